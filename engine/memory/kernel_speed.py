"""How fast a processor computes what decoding consists of, and reads it on the way.

Measured figures go in, times come out. Small models, and all quantized ones on a few cores, are bound by
these and not by memory alone. Knows nothing about who measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TYPES = ("F16", "BF16", "Q8_0", "Q6_K", "Q5_K", "Q5_0", "Q4_K", "Q4_1", "Q4_0", "IQ4_XS", "Q3_K", "Q2_K")
"""The tensor types that are measured; others are taken for the slowest."""

HEAD_SIZES = (64, 128, 256)
FEW, MANY = 1, 4
"""Query heads that share one head of the cache, as they are measured: the more, the less is read for each."""

_FORM = 2  # of what is stored; figures of another form mean other things


@dataclass(frozen=True, slots=True)
class KernelSpeed:
    """All cores together.

    `weights`: bytes a second of a matrix of each tensor type with a vector, which is read from memory: a core
    hides only a part of the one behind the other. `attention`: seconds that one query head takes for one
    cell, read likewise, by `attention_key`. `kernel`: seconds that starting one costs, all threads waiting
    for each other; `product`: those of a product with a matrix, whose vector is quantized before.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    attention: Mapping[str, float] = field(default_factory=dict)
    kernel: float = 0.0
    product: float = 0.0
    form: int = _FORM

    def weights_rate(self, tensor_type: str) -> float | None:
        """Bytes a second, None where nothing was measured."""
        known = self.weights.get(tensor_type)
        return known if known is not None else min(self.weights.values(), default=None)

    def seconds_per_head_cell(
        self, kv_type: str, head_size: int, sharing: float = MANY, *, flash_attention: bool = True
    ) -> float:
        """Of the nearest size that was measured, in proportion; 0 where none was.

        `sharing`: query heads for each head of the cache. A cell is read once for all of them.
        """
        few, many = (self._measured(kv_type, head_size, n, flash_attention) for n in (FEW, MANY))
        reading = max(0.0, few - many) / (1 / FEW - 1 / MANY)
        return max(0.0, many + reading * (1 / max(1.0, sharing) - 1 / MANY))

    def _measured(self, kv_type: str, head_size: int, sharing: int, is_flash: bool) -> float:
        # K alone may be quantized without flash attention; that is not measured.
        for name in (kv_type, "f16"):
            keys = {n: attention_key(name, n, sharing, flash_attention=is_flash) for n in HEAD_SIZES}
            sizes = [size for size, key in keys.items() if key in self.attention]
            if sizes and head_size:
                nearest = min(sizes, key=lambda size: abs(size - head_size))
                return self.attention[keys[nearest]] * max(1.0, head_size / nearest)
        return 0.0


def attention_key(kv_type: str, head_size: int, sharing: int, *, flash_attention: bool) -> str:
    """For example "q8_0/128/4/flash"."""
    return f"{kv_type}/{head_size}/{sharing}" + ("/flash" if flash_attention else "")


def parse_kernels(stored: object) -> KernelSpeed | None:
    """What was stored as JSON; None for anything else, and for what an older version stored."""
    if not isinstance(stored, Mapping) or stored.get("form") != _FORM:
        return None
    starts = _figures({name: stored.get(name) for name in ("kernel", "product")})
    found = KernelSpeed(
        _figures(stored.get("weights")),
        _figures(stored.get("attention")),
        starts.get("kernel", 0.0),
        starts.get("product", 0.0),
    )
    return found if found.weights and found.attention else None


def best_of(one: KernelSpeed, other: KernelSpeed) -> KernelSpeed:
    """The quicker of each figure: neighbours that want the cores too make none faster."""
    return KernelSpeed(
        {name: max(rate, other.weights.get(name, 0.0)) for name, rate in one.weights.items()},
        {key: min(seconds, other.attention.get(key, seconds)) for key, seconds in one.attention.items()},
        _quicker(one.kernel, other.kernel),
        _quicker(one.product, other.product),
    )


def _quicker(one: float, other: float) -> float:
    """0 is not measured."""
    return min(one or other, other or one)


def _figures(stored: object) -> Mapping[str, float]:
    if not isinstance(stored, Mapping):
        return {}
    return {str(name): float(value) for name, value in stored.items() if _is_figure(value)}


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15
