"""Where a model's weights go when its layers are spread over devices, and how wide its layers are.

Tensor lists go in, bytes for each layer come out. Source: `LLM_TENSOR_INFOS` in llama.cpp's
src/llama-arch.cpp, which tells input, repeating and output tensors apart. Knows nothing about devices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.models.gguf_tensors import TensorInfo

_BLOCK = re.compile(r"blk\.(\d{1,9})\.(.+)")
# What a layer computes between its first and its last matrix, one row for each token.
_WIDE = re.compile(r"(ffn_up|ffn_gate|ssm_in|attn_qkv)(_exps)?\.weight")


@dataclass(frozen=True, slots=True)
class PlacementFacts:
    """Bytes as `ModelFacts` names them; `inner_width`: numbers that one token has inside the widest layer."""

    layer_bytes: tuple[int, ...]
    output_bytes: int
    output_copy_bytes: int
    inner_width: int


def place(tensors: Sequence[TensorInfo], n_layers: int, n_trunk: int, n_experts_used: int) -> PlacementFacts:
    """Sort `tensors`, those of all parts; only the first `n_trunk` of `n_layers` layers are loaded."""
    layer_bytes = [0] * n_layers
    output = copy = width = 0
    for tensor in tensors:
        block = _BLOCK.match(tensor.name)
        if block is None:
            output += tensor.n_bytes if tensor.name.startswith("output") else 0
            copy += tensor.n_bytes if tensor.name == "token_embd.weight" else 0
        elif int(block[1]) < n_trunk:
            layer_bytes[int(block[1])] += tensor.n_bytes
            width = max(width, _width(tensor, block[2], n_experts_used))
    if any(tensor.name == "output.weight" for tensor in tensors):
        copy = 0
    return PlacementFacts(tuple(layer_bytes), output, copy, width)


def _width(tensor: TensorInfo, name: str, n_experts_used: int) -> int:
    wide = _WIDE.fullmatch(name)
    if wide is None or len(tensor.shape) < 2:
        return 0
    return tensor.shape[1] * (max(1, n_experts_used) if wide[2] else 1)
