"""The arithmetic of the KV cache: bytes for each layer and each token, before anything is loaded.

`ModelFacts`, a context and a KV type go in, bytes come out: the very numbers that llama.cpp 0.3.36's
cache classes allocate. `layers` of the facts say what a token leaves in each layer, so that multi-head,
grouped, single-head (MQA) and latent (MLA) attention are one formula here. Knows nothing about devices.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.models.model_facts import LayerFacts, LayerKind, ModelFacts
from engine.protocol import KVType

_BLOCK_LENGTH = {KVType.F16: 1, KVType.Q8_0: 32, KVType.Q4_0: 32}  # block_q8_0, block_q4_0: ggml-common.h
_BLOCK_BYTES = {KVType.F16: 2, KVType.Q8_0: 34, KVType.Q4_0: 18}
_STATE_BYTES = 4  # GGML_TYPE_F32: llama_model::create_memory in src/llama-model.cpp
_CELL_STEP = 256


@dataclass(frozen=True, slots=True)
class KvSizes:
    """Bytes in each layer: `kv_by_layer` for keys and values, `state_by_layer` for recurrent states."""

    kv_by_layer: tuple[int, ...]
    state_by_layer: tuple[int, ...]

    @property
    def kv_bytes(self) -> int:
        """Keys and values of all layers."""
        return sum(self.kv_by_layer)

    @property
    def state_bytes(self) -> int:
        """The recurrent states of all layers."""
        return sum(self.state_by_layer)


def kv_sizes(
    facts: ModelFacts,
    n_ctx: int,
    kv_type: KVType,
    n_seq_max: int = 1,
    *,
    v_type: KVType | None = None,
    flash_attention: bool = True,
    n_ubatch: int = 512,
    swa_full: bool = True,
) -> KvSizes:
    """What a context of `n_ctx` cells, shared by up to `n_seq_max` sequences, allocates.

    `v_type`: of V, None is `kv_type`. Without `flash_attention` V lies transposed, and as wide in each layer
    as in the widest. `swa_full`: sliding-window layers keep all cells, which Weir asks for since eviction
    needs them.
    """
    widest = 0 if flash_attention else max((layer.value_values for layer in facts.layers), default=0)
    cells = padded_cells(n_ctx)
    sliding_cells = cells if swa_full else windowed_cells(facts, n_ctx, n_seq_max, n_ubatch)
    return KvSizes(
        tuple(
            (sliding_cells if layer.kind is LayerKind.SLIDING else cells)
            * row_bytes(layer, kv_type, v_type, widest)
            for layer in facts.layers
        ),
        tuple(layer.state_values * _STATE_BYTES * max(1, n_seq_max) for layer in facts.layers),
    )


def padded_cells(n_ctx: int) -> int:
    """Cells of a context: rounded up to a multiple of 256.

    Source: `GGML_PAD(cparams.n_ctx, 256)` in llama.cpp's src/llama-context.cpp.
    """
    return -(-n_ctx // _CELL_STEP) * _CELL_STEP


def windowed_cells(facts: ModelFacts, n_ctx: int, n_seq_max: int, n_ubatch: int) -> int:
    """Cells of the sliding-window layers where they keep their window alone.

    A window for each sequence and one micro-batch, which is no longer than the context; rounded up to 256.
    Source: `size_swa` in llama.cpp's src/llama-kv-cache-iswa.cpp, `n_ubatch` in src/llama-context.cpp.
    """
    wanted = (facts.sliding_window or 0) * n_seq_max + min(n_ctx, n_ubatch)
    return padded_cells(min(padded_cells(n_ctx), wanted))


def row_bytes(layer: LayerFacts, kv_type: KVType, v_type: KVType | None = None, least_values: int = 0) -> int:
    """Bytes that one cell takes in `layer`: one row of keys and one of values, in whole blocks.

    Values, where there are any, are at least `least_values` wide. Source: the tensors `cache_k` and `cache_v`
    in llama.cpp's src/llama-kv-cache.cpp, `n_embd_v_gqa_max` there; block sizes in ggml/src/ggml-common.h.
    """
    values = max(layer.value_values, least_values) if layer.value_values else 0
    return _stored(layer.key_values, kv_type) + _stored(values, v_type or kv_type)


def _stored(n_values: int, kv_type: KVType) -> int:
    return -(-n_values // _BLOCK_LENGTH[kv_type]) * _BLOCK_BYTES[kv_type]


def bytes_per_token(facts: ModelFacts, kv_type: KVType, v_type: KVType | None = None) -> int:
    """Bytes that each further cell of the context takes, sliding-window layers included."""
    return sum(row_bytes(layer, kv_type, v_type) for layer in facts.layers)


def can_quantize(facts: ModelFacts, kv_type: KVType, v_type: KVType | None = None) -> bool:
    """Whether llama.cpp makes such a cache for this model: a block must not reach over two heads.

    Source: the checks of `n_embd_head_k` and `n_embd_head_v` in `llama_init_from_model`, in llama.cpp's
    src/llama-context.cpp.
    """
    k_length, v_length = _BLOCK_LENGTH[kv_type], _BLOCK_LENGTH[v_type or kv_type]
    return all(
        values // layer.n_kv_heads % length == 0
        for layer in facts.layers
        if layer.n_kv_heads
        for values, length in ((layer.key_values, k_length), (layer.value_values, v_length))
    )
