"""How fast a processor computes what decoding consists of, apart from how fast its memory is.

Measured figures go in, times come out. Small models, and all quantized ones on a few cores, are bound by
these and not by memory. Knows nothing about who measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TYPES = ("F16", "BF16", "Q8_0", "Q6_K", "Q5_K", "Q5_0", "Q4_K", "Q4_1", "Q4_0", "IQ4_XS", "Q3_K", "Q2_K")
"""The tensor types that are measured; others are taken for the slowest."""

HEAD_SIZES = (64, 128, 256)


@dataclass(frozen=True, slots=True)
class KernelSpeed:
    """All cores together.

    `weights`: bytes a second of a matrix of each tensor type with a vector, where no memory is waited for.
    `attention`: seconds that one query head takes for one cell, by `attention_key`. `kernel`: seconds that
    starting one costs, all threads waiting for each other.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    attention: Mapping[str, float] = field(default_factory=dict)
    kernel: float = 0.0

    def weights_rate(self, tensor_type: str) -> float | None:
        """Bytes a second, None where nothing was measured."""
        known = self.weights.get(tensor_type)
        return known if known is not None else min(self.weights.values(), default=None)

    def seconds_per_head_cell(self, kv_type: str, head_size: int) -> float:
        """Of the nearest size that was measured, in proportion; 0 where none was."""
        measured = [size for size in HEAD_SIZES if attention_key(kv_type, size) in self.attention]
        if not measured or not head_size:
            return 0.0
        nearest = min(measured, key=lambda size: abs(size - head_size))
        seconds = self.attention[attention_key(kv_type, nearest)]
        return seconds * max(1.0, head_size / nearest)


def attention_key(kv_type: str, head_size: int) -> str:
    """For example "q8_0/128"."""
    return f"{kv_type}/{head_size}"


def parse_kernels(stored: object) -> KernelSpeed | None:
    """What was stored as JSON; None for anything else."""
    if not isinstance(stored, Mapping):
        return None
    kernel = _figures({"kernel": stored.get("kernel")}).get("kernel", 0.0)
    found = KernelSpeed(_figures(stored.get("weights")), _figures(stored.get("attention")), kernel)
    return found if found.weights and found.attention else None


def best_of(one: KernelSpeed, other: KernelSpeed) -> KernelSpeed:
    """The quicker of each figure: neighbours that want the cores too make none faster."""
    return KernelSpeed(
        {name: max(rate, other.weights.get(name, 0.0)) for name, rate in one.weights.items()},
        {key: min(seconds, other.attention.get(key, seconds)) for key, seconds in one.attention.items()},
        min(one.kernel or other.kernel, other.kernel or one.kernel),
    )


def _figures(stored: object) -> Mapping[str, float]:
    if not isinstance(stored, Mapping):
        return {}
    return {str(name): float(value) for name, value in stored.items() if _is_figure(value)}


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15
