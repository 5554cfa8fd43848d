"""What llama.cpp rearranges for the processor while it loads, from the tensors alone.

The tensors of each part go in, sizes come out. Matrices of some types are laid anew in a buffer of their
own (`CPU_REPACK`); the rest stays as it is, mapped in one piece of the file from the first to the last such.
Sources: ggml/src/ggml-cpu/repack.cpp; `get_mapping_range` in llama.cpp's src/llama-model-loader.cpp. Knows
nothing about machines: where a card takes part, nothing is rearranged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.models.gguf_tensors import TensorInfo

# Those of x86 with AVX2, which has each laptop of today; other processors differ in a few.
_TYPES = frozenset({"Q4_0", "Q4_K", "IQ4_NL", "MXFP4"})
_ROWS_AT_ONCE = 8
_TABLE, _OUTPUT = "token_embd.weight", "output.weight"


@dataclass(frozen=True, slots=True)
class RearrangedFacts:
    """Bytes. `matrices` are rearranged; of those, `copies` lie as they were too, since single rows are read.

    `mapped`: the pieces of the files that stay mapped, what was rearranged in between included.
    """

    matrices: int = 0
    copies: int = 0
    mapped: int = 0

    def file_cache(self, weights_bytes: int) -> int:
        """Bytes that are mapped, and not read again once they were rearranged."""
        used = weights_bytes - self.matrices + self.copies
        return max(0, self.mapped - used) if self.matrices else 0


def rearranged_of(parts: Sequence[Iterable[TensorInfo]]) -> RearrangedFacts:
    """The sizes, of the tensors that each part of a model has."""
    is_tied = not any(tensor.name == _OUTPUT for part in parts for tensor in part)
    matrices = copies = mapped = 0
    for part in parts:
        kept: list[TensorInfo] = []
        for tensor in part:
            is_table = tensor.name == _TABLE
            if _is_rearranged(tensor) and (is_tied or not is_table):
                matrices += tensor.n_bytes
                copies += tensor.n_bytes if is_table else 0
                if not is_table:
                    continue
            kept.append(tensor)
        mapped += _span(kept)
    return RearrangedFacts(matrices, copies, mapped)


def _is_rearranged(tensor: TensorInfo) -> bool:
    has_rows = len(tensor.shape) > 1 and tensor.shape[1] % _ROWS_AT_ONCE == 0
    return tensor.ggml_type in _TYPES and has_rows


def _span(tensors: Sequence[TensorInfo]) -> int:
    first = min((tensor.offset for tensor in tensors), default=0)
    return max((tensor.offset + tensor.n_bytes for tensor in tensors), default=0) - first
