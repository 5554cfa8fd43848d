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
    if per_second is None or not math.isfinite(per_second):
        return NOT_AVAILABLE
    return f"{per_second:,.0f} tok/s" if per_second >= 100 else f"{per_second:.1f} tok/s"


def seconds(milliseconds: float | None) -> str:
    """A duration in seconds."""
    if milliseconds is None or not math.isfinite(milliseconds):
        return NOT_AVAILABLE
    value = milliseconds / 1000
    return f"{value:,.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def size(n_bytes: int | None) -> str:
    """Memory in MiB below 1 GiB, else in GiB."""
    if n_bytes is None:
        return NOT_AVAILABLE
    return f"{n_bytes / _GIB:.1f} GiB" if n_bytes >= _GIB else f"{n_bytes / _MIB:,.0f} MiB"


def part(used: int | None, total: int | None) -> str:
    """Used of total memory, in the unit of the total."""
    if used is None or total is None:
        return NOT_AVAILABLE
    if total >= _GIB:
        return f"{used / _GIB:.1f} / {total / _GIB:.1f} GiB"
    return f"{used / _MIB:,.0f} / {total / _MIB:,.0f} MiB"


def fraction(used: int, total: int) -> float:
    """Used over total, 0 to 1; 0 where there is nothing to divide by."""
    return min(1.0, max(0.0, used / total)) if total > 0 else 0.0
