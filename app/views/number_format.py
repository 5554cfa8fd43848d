"""Numbers as people read them. What was not measured is "n/a", never NaN.

Values of the protocol go in, short texts come out. Knows nothing about widgets.
"""

from __future__ import annotations

import math

NOT_AVAILABLE = "n/a"

_MIB = 1024**2
_GIB = 1024**3


def rate(per_second: float | None) -> str:
    """Tokens per second."""
    number = _rate(per_second)
    return number if number == NOT_AVAILABLE else f"{number} tok/s"


def short_rate(per_second: float | None) -> str:
    """A rate where the unit is known from what stands beside it."""
    number = _rate(per_second)
    return number if number == NOT_AVAILABLE else f"{number}/s"


def seconds(milliseconds: float | None) -> str:
    """A duration in seconds."""
    if milliseconds is None or not math.isfinite(milliseconds):
        return NOT_AVAILABLE
    value = milliseconds / 1000
    return f"{value:,.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def times(factor: float | None) -> str:
    """How many times as much: "1.3×"."""
    if factor is None or not math.isfinite(factor):
        return NOT_AVAILABLE
    return f"{factor:.1f}\N{MULTIPLICATION SIGN}"


def duration(value: float) -> str:
    """How long something takes, as coarse as it is foreseen: "12 s", "3 min", "2 h 5 min"; in seconds."""
    whole = max(0, round(value))
    if whole < 100:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60:,} h {minutes % 60} min"


def size(n_bytes: int | None) -> str:
    """Memory in MiB below 1 GiB, else in GiB."""
    if n_bytes is None:
        return NOT_AVAILABLE
    return f"{_gib(n_bytes)} GiB" if n_bytes >= _GIB else f"{n_bytes / _MIB:,.0f} MiB"


def part(used: int | None, total: int | None) -> str:
    """Used of total memory, in the unit of the total."""
    if used is None or total is None or total <= 0:
        return NOT_AVAILABLE
    if total >= _GIB:
        return f"{_gib(used)}/{_gib(total)} GiB"
    return f"{used / _MIB:,.0f}/{total / _MIB:,.0f} MiB"


def fraction(used: float, total: float) -> float:
    """Used over total, 0 to 1; 0 where there is nothing to divide by."""
    return min(1.0, max(0.0, used / total)) if total > 0 else 0.0


def _rate(per_second: float | None) -> str:
    if per_second is None or not math.isfinite(per_second):
        return NOT_AVAILABLE
    return f"{per_second:,.0f}" if per_second >= 100 else f"{per_second:.1f}"


def _gib(n_bytes: int) -> str:
    value = n_bytes / _GIB
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
