"""Quantizing a model, as it crosses the process boundary: the wish, how far it is, what came of it.

Knows nothing about how it is done.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class QuantKind(enum.StrEnum):
    """Mixes that need no importance matrix, the largest first; the values are llama.cpp's own names.

    The IQ4 types need none either, but take ten times as long to make, and are hardly smaller than Q4_0.
    """

    Q8_0 = "Q8_0"
    Q6_K = "Q6_K"
    Q5_K_M = "Q5_K_M"
    Q4_K_M = "Q4_K_M"
    Q4_K_S = "Q4_K_S"
    Q4_0 = "Q4_0"


DEFAULT_KIND = QuantKind.Q4_K_M


@dataclass(frozen=True, slots=True)
class Quantize:
    """Write the model at `path` as `kind` to the file `target`, as the first command instead of `LoadModel`.

    Answered by `QuantizeProgress`..., then `QuantizeFinished` or `Failed`. A split model becomes one file.
    A file that is there is replaced only if `overwrites`. To cancel it, end the process, and sweep what it
    has left with `engine.models.unfinished_file`.
    """

    path: str
    target: str
    kind: QuantKind = DEFAULT_KIND
    n_threads: int | None = None
    overwrites: bool = False


@dataclass(frozen=True, slots=True)
class QuantizeProgress:
    """`n_done` of `n_total` tensors are written, `done_bytes` of the source's `total_bytes`.

    `seconds_left` is None until something can be told from the speed so far.
    """

    n_done: int
    n_total: int
    done_bytes: int
    total_bytes: int
    seconds_left: float | None = None

    @property
    def fraction(self) -> float:
        """How much is done, 0 to 1."""
        return self.done_bytes / self.total_bytes if self.total_bytes else 1.0


@dataclass(frozen=True, slots=True)
class QuantizeFinished:
    """The file at `path` is whole. `tensor_bytes`: bytes by tensor type, the largest share first.

    `n_fallback` tensors have rows that do not fit the blocks of the kind, and got a larger type.
    """

    path: str
    size_bytes: int
    seconds: float
    quantization: str
    tensor_bytes: tuple[tuple[str, int], ...]
    n_fallback: int
