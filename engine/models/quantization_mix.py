"""Which type each tensor gets when a model is quantized: llama.cpp's rules, for kinds without a matrix.

Tensors and a few facts go in, a type for each comes out. The rules are those of `llama_tensor_get_type_impl`,
`tensor_type_fallback` and `tensor_allows_quantization` in llama.cpp's src/llama-quant.cpp; what it does for
single architectures beside Falcon is not followed, so the sum is an "about" there. Knows nothing about files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.models.gguf_constants import gguf_constants
from engine.models.gguf_tensors import TensorInfo
from engine.protocol import QuantKind

_BASE_TYPE = {
    QuantKind.Q8_0: "Q8_0",
    QuantKind.Q6_K: "Q6_K",
    QuantKind.Q5_K_M: "Q5_K",
    QuantKind.Q4_K_M: "Q4_K",
    QuantKind.Q4_K_S: "Q4_K",
    QuantKind.Q4_0: "Q4_0",
}
# What rows take whose length is no multiple of 256.
_FALLBACK = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0"}
_EMBEDDINGS = ("token_embd.weight", "per_layer_token_embd.weight")
_VALUES = ("attn_qkv.weight", "attn_kv_b.weight", "attn_v.weight")
_KEPT = (
    *("_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel"),
    *("per_layer_model_proj", "position_embd", "token_types", "ssm_conv1d", "shortconv.conv.weight"),
    *("indexer.k_proj.weight", "indexer.q_proj.weight", "attn_rel_b.weight", "time_mix_lerp_fused.weight"),
)
_KEPT_RWKV = re.compile(r"time_mix_(first|[wva][012]|g[12]|decay_w[12])\.weight")
_BLOCK = re.compile(r"blk\.(\d{1,9})\.")


@dataclass(frozen=True, slots=True)
class MixFacts:
    """What the rules ask of a model. `n_gqa`: query heads for each KV head, 0 where there are none."""

    architecture: str
    n_layers: int
    n_gqa: int
    n_experts: int


def allows_quantization(tensor: TensorInfo) -> bool:
    """Whether llama.cpp quantizes it at all: a matrix, and none of the small or delicate ones."""
    name = tensor.name
    is_matrix = any(length > 1 for length in tensor.shape[1:])
    kept = any(part in name for part in _KEPT) or _KEPT_RWKV.search(name)
    return is_matrix and name.endswith("weight") and not kept


def in_order(tensors: Sequence[TensorInfo]) -> list[TensorInfo]:
    """As llama.cpp goes through them, and writes them: by layer, then by name."""
    return sorted(tensors, key=lambda tensor: (_layer_of(tensor.name), tensor.name.encode()))


def mixed_types(tensors: Sequence[TensorInfo], facts: MixFacts, kind: QuantKind) -> tuple[str, ...]:
    """The type of each of `tensors`, which come `in_order`."""
    mix = _Mix(tensors, facts, kind)
    return tuple(mix.next(tensor) if allows_quantization(tensor) else tensor.ggml_type for tensor in tensors)


def row_bytes(ggml_type: str, n_weights: int) -> int:
    """What so many weights take, in whole blocks."""
    length, n_bytes = _block(ggml_type)
    return n_weights // length * n_bytes


class _Mix:
    """Counts through the tensors: what a layer gets depends on its number among those of its sort."""

    def __init__(self, tensors: Sequence[TensorInfo], facts: MixFacts, kind: QuantKind) -> None:
        self._facts = facts
        self._kind = kind
        self._base = _BASE_TYPE[kind]
        self._is_falcon = facts.architecture == "falcon"
        self._is_tied = all(tensor.name != "output.weight" for tensor in tensors)
        self._n_values = sum(any(part in tensor.name for part in _VALUES) for tensor in tensors)
        self._values_seen = 0
        self._down_seen = 0

    def next(self, tensor: TensorInfo) -> str:
        """The type of the next tensor that may be quantized."""
        return _fitting(self._wanted(tensor), tensor.shape[0])

    def _wanted(self, tensor: TensorInfo) -> str:
        name = tensor.name
        if name == "output.weight" or (self._is_tied and name in _EMBEDDINGS):
            return self._of_output(tensor.shape[0])
        if name in _EMBEDDINGS:
            return self._base
        if any(part in name for part in _VALUES):
            return self._of_values()
        if "attn_k.weight" in name:
            return "Q8_0" if self._facts.n_experts == 8 else self._base
        if "attn_output.weight" in name:
            is_finer = self._facts.n_experts == 8 and not self._is_falcon and self._base == "Q4_K"
            return "Q5_K" if is_finer else self._base
        return self._of_down(name) if "ffn_down" in name else self._base

    def _of_output(self, n_columns: int) -> str:
        if self._is_falcon or n_columns % _block(self._base)[0]:
            return "Q8_0"
        return "Q8_0" if self._base == "Q8_0" else "Q6_K"

    def _of_values(self) -> str:
        number, wanted = self._values_seen, self._base
        self._values_seen += 1
        if self._facts.n_experts == 8:
            return "Q8_0"
        if self._kind in (QuantKind.Q4_K_M, QuantKind.Q5_K_M) and _is_delicate(number, self._n_values):
            wanted = "Q6_K"
        elif self._kind is QuantKind.Q4_K_S and number < 4:
            wanted = "Q5_K"
        is_70b = self._facts.n_layers == 80 and self._facts.n_gqa > 1
        return "Q5_K" if is_70b and wanted == "Q4_K" else wanted

    def _of_down(self, name: str) -> str:
        n_layers = self._facts.n_layers
        number = _layer_of(name) if self._facts.n_experts > 1 else self._down_seen
        self._down_seen += 1
        is_early, is_delicate = number < n_layers // 8, _is_delicate(number, n_layers)
        match self._kind:
            case QuantKind.Q4_K_M if self._is_falcon:
                return "Q6_K" if number < n_layers // 16 else "Q5_K" if is_delicate else "Q4_K"
            case QuantKind.Q4_K_M | QuantKind.Q5_K_M if is_delicate:
                return "Q6_K"
            case QuantKind.Q4_K_S if is_early and not self._is_falcon:
                return "Q5_K"
        return self._base


def _is_delicate(number: int, n: int) -> bool:
    """`use_more_bits`: the first and the last eighth, and each third one between."""
    return number < n // 8 or number >= 7 * n // 8 or (number - n // 8) % 3 == 2


def _fitting(wanted: str, n_columns: int) -> str:
    if n_columns % _block(wanted)[0] == 0:
        return wanted
    smaller = _FALLBACK.get(wanted, wanted)
    return smaller if n_columns % _block(smaller)[0] == 0 else "F16"


def _layer_of(name: str) -> int:
    block = _BLOCK.match(name)
    return int(block[1]) if block else -1


def _block(ggml_type: str) -> tuple[int, int]:
    constants = gguf_constants()
    length, n_bytes = constants.GGML_QUANT_SIZES[constants.GGMLQuantizationType[ggml_type]]
    return int(length), int(n_bytes)
