"""What a model's tensors add up to: parameters, bytes, what one token reads of them, and a name for the mix.

Tensor lists go in, sums come out. Knows tensor names, but no architectures.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from types import MappingProxyType

from engine.models.gguf_constants import gguf_constants
from engine.models.gguf_tensors import TensorInfo

_BLOCK = re.compile(r"blk\.(\d{1,9})\.")
# Tables of which a token reads one row.
_TABLES = ("token_embd.", "per_layer_token_embd.", "position_embd.", "token_types.")
_OUTPUT = "output.weight"
_PLAIN = frozenset({"F32", "F16", "BF16", "F64"})
_MAIN_SHARE = 0.75  # a type with so much of the bytes gives the mix its name


@dataclass(frozen=True, slots=True)
class WeightFacts:
    """Sums over the tensors, as `ModelFacts` names them."""

    n_params: int
    n_active_params: int
    weights_bytes: int
    active_bytes: int
    tensor_bytes: Mapping[str, int]


def weigh(tensors: Sequence[TensorInfo], n_trunk: int, experts_read: Sequence[Fraction]) -> WeightFacts:
    """Add up `tensors`, those of all parts.

    The first `n_trunk` layers are loaded and read for every token; `experts_read` is for each of these the
    share of its experts that one token reads.
    """
    loaded = [tensor for tensor in tensors if _layer_of(tensor) < n_trunk]
    has_output = any(tensor.name == _OUTPUT for tensor in tensors)
    shares = [(_share(tensor, has_output, experts_read), tensor) for tensor in loaded]
    by_type: dict[str, int] = {}
    for tensor in loaded:
        by_type[tensor.ggml_type] = by_type.get(tensor.ggml_type, 0) + tensor.n_bytes
    return WeightFacts(
        n_params=sum(prod(tensor.shape) for tensor in tensors),
        n_active_params=int(sum(share * prod(tensor.shape) for share, tensor in shares)),
        weights_bytes=sum(tensor.n_bytes for tensor in loaded),
        active_bytes=int(sum(share * tensor.n_bytes for share, tensor in shares)),
        tensor_bytes=MappingProxyType(by_type),
    )


def _layer_of(tensor: TensorInfo) -> int:
    block = _BLOCK.match(tensor.name)
    return int(block[1]) if block else -1


def _share(tensor: TensorInfo, has_output: bool, experts_read: Sequence[Fraction]) -> Fraction | int:
    """How much of the tensor one token reads, from 0 to 1."""
    if "_exps." in tensor.name:
        layer = _layer_of(tensor)
        return experts_read[layer] if 0 <= layer < len(experts_read) else 1
    if tensor.name.startswith(_TABLES):
        is_output_too = tensor.name == "token_embd.weight" and not has_output
        return 1 if is_output_too else 0
    return 1


def quantization_label(file_type: int | None, tensor_bytes: Mapping[str, int]) -> str:
    """The quantization as users know it: "Q4_K_M", "F16", or "mixed Q4_K/Q6_K" where the file names none.

    `file_type` is the file's own word, which is not believed where it contradicts the tensors.
    """
    by_size = sorted(tensor_bytes, key=lambda name: -tensor_bytes[name])
    named = _name_of(file_type)
    if not by_size:
        return named or "none"
    if named and _agrees(named, by_size):
        return named
    main = by_size[0]
    if len(by_size) == 1 or tensor_bytes[main] >= _MAIN_SHARE * sum(tensor_bytes.values()):
        return main
    return f"mixed {main}/{by_size[1]}"


def _agrees(named: str, by_size: Sequence[str]) -> bool:
    if named in _PLAIN:
        return by_size[0] == named
    if named in _tensor_types():
        return named in by_size
    # A recipe, as Q4_K_M: rows that do not fit its blocks get other types, in small models most of them.
    return not _PLAIN.issuperset(by_size)


def _tensor_types() -> Collection[str]:
    return [str(name) for name in gguf_constants().GGMLQuantizationType.__members__]


def _name_of(file_type: int | None) -> str | None:
    """llama.cpp's name of a file type, as "Q4_K_M"; None for one that is not known."""
    file_types = gguf_constants().LlamaFileType
    try:
        known = file_types(file_type)
    except ValueError:
        return None
    if known is file_types.GUESSED:  # a mark of llama.cpp's own, not a type
        return None
    return str(known.name).removeprefix("ALL_").removeprefix("MOSTLY_")
