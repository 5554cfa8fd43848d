"""Where an axis has its ticks, and what they read.

Ends of a range go in, `(position, text)` pairs come out. Knows nothing about plots.
"""

from __future__ import annotations

import math

Ticks = list[tuple[float, str]]


def linear_ticks(low: float, high: float, n_steps: int = 5) -> Ticks:
    """Round numbers from `low` to `high`, about `n_steps` steps of the same size."""
    return [(value, _text(value)) for value in _round_numbers(low, high, n_steps)]


def log_ticks(low: float, high: float) -> Ticks:
    """Round numbers from `low` to `high`, both above 0, at the positions of their logarithms to base 10."""
    if high / low < 8:
        values = _round_numbers(low, high, 5)
    else:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = (1, 2, 5) if len(decades) <= 4 else (1,)
        values = [step * 10.0**decade for decade in decades for step in steps]
    return [(math.log10(value), _text(value)) for value in values if low <= value <= high]


def _round_numbers(low: float, high: float, n_steps: int) -> list[float]:
    if not high > low:
        return []
    rough = (high - low) / n_steps
    unit = 10.0 ** math.floor(math.log10(rough))
    step = min((unit * n for n in (1, 2, 5, 10)), key=lambda step: abs(step - rough))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def _text(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"
