"""What measured tokens make of the kernels' times: a factor for the base of a token, another for attention.

Pairs of a time that was expected and one that was measured go in, two factors come out. One measurement at
one depth cannot tell both, so that what is known before decides: attention is one kernel, measured by itself,
the base is many with all that lies between, and what slows the one slows the other too. Promises: both stay
within bounds; measurements that are slower than the others let expect were disturbed, and count little. Knows
nothing about models or devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# How far from 1 the factors may well be: both together, as on a machine that is slower for longer than the
# kernels were measured, and each by itself.
_COMMON_SPREAD, _BASE_SPREAD, _ATTENTION_SPREAD = 0.15, 0.15, 0.1
_NOISE = 0.03  # of a quick measurement
_DISTURBED = 0.1  # slower than expected by that part, a measurement counts half
_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Point:
    """Seconds that a token took, beside those expected of its base and of its attention."""

    base: float
    attention: float
    seconds: float


def fitted_factors(points: Sequence[Point], slowest: float, quickest: float) -> tuple[float, float]:
    """Of the base and of attention, both between `quickest` and `slowest`; of at least one point.

    The most likely ones for normal errors, those of the factors and the relative ones of the measurements;
    these are weighed anew each round by how slow they are against the last (a Cauchy weight).
    """
    first = min(points, key=lambda point: point.seconds / (point.base + point.attention))
    factors = _bounded(_solved([first], [1.0]), slowest, quickest)
    for _ in range(_ROUNDS):
        weights = [1 / (1 + (_excess(point, factors) / _DISTURBED) ** 2) for point in points]
        factors = _bounded(_solved(points, weights), slowest, quickest)
    return factors


def _excess(point: Point, factors: tuple[float, float]) -> float:
    expected = factors[0] * point.base + factors[1] * point.attention
    return max(0.0, point.seconds / expected - 1)


def _bounded(factors: tuple[float, float], slowest: float, quickest: float) -> tuple[float, float]:
    base, attention = (max(quickest, min(slowest, factor)) for factor in factors)
    return base, attention


def _solved(points: Sequence[Point], weights: Sequence[float]) -> tuple[float, float]:
    """The normal equations of the points' relative errors and of what was expected of the factors."""
    base, attention, both = (
        _COMMON_SPREAD**2 + _BASE_SPREAD**2,
        _COMMON_SPREAD**2 + _ATTENTION_SPREAD**2,
        _COMMON_SPREAD**2,
    )
    scale = base * attention - both**2
    aa, bb, ab = attention / scale, base / scale, -both / scale  # the inverse of their covariance
    a, b = aa + ab, ab + bb
    for point, weight in zip(points, weights, strict=True):
        x, y, counts = point.base / point.seconds, point.attention / point.seconds, weight / _NOISE**2
        aa, ab, bb = aa + counts * x * x, ab + counts * x * y, bb + counts * y * y
        a, b = a + counts * x, b + counts * y
    determinant = aa * bb - ab**2  # positive: the spreads see to that
    return (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant
