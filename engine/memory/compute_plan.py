"""How large the buffers are in which llama.cpp computes, before it says so itself.

`ModelFacts` and a `LoadShape` go in, bytes come out. The graph's formula is fitted to the sizes that
llama.cpp logs (as of llama-cpp-python 0.3.36) for transformers of 576 to 8,192 numbers a token, dense or of
experts, which it meets to 1 %; others are met roughly. Where a dry run is possible, its sizes are taken
instead. Knows nothing about devices.
"""

from __future__ import annotations

from engine.memory.kv_math import padded_cells
from engine.memory.memory_plan import LoadShape
from engine.models.model_facts import LayerKind, ModelFacts
from engine.protocol import MOST_DRAFTED, FlashAttention

_NUMBER = 4  # GGML_TYPE_F32
_FLASH_MASK_NUMBER = 2  # flash attention takes its mask in 16 bits


def graph_bytes(facts: ModelFacts, shape: LoadShape) -> int:
    """What the device needs that computes layers: attention masks and one layer's rows, for one batch.

    Where the vocabulary is large beside that, the logits are more, which take the rows' place at the end.
    """
    n_embd = facts.n_embd or 0
    row = 3 * facts.inner_width + 4 * n_embd
    n_experts_used = facts.n_experts_used or 0
    if n_experts_used * n_embd > 2 * facts.inner_width:
        row += (n_experts_used + 1) * n_embd  # what the experts give does not fit where they computed it
    if not _is_flash(shape):
        row = max(row, _scores_row(facts, shape))
    return max(_mask_bytes(facts, shape) + _n_tokens(shape) * _NUMBER * row, logits_bytes(facts, shape))


def _scores_row(facts: ModelFacts, shape: LoadShape) -> int:
    """Numbers that one token has where scores are kept: one for each head and cell, beside its rows."""
    kept = max((layer.key_values + layer.value_values for layer in facts.layers), default=0)
    return (facts.n_heads or 0) * padded_cells(shape.n_ctx) + 5 * (facts.n_embd or 0) + kept


def input_bytes(facts: ModelFacts, shape: LoadShape) -> int:
    """What stays in RAM where other devices compute all layers: masks and embeddings of one batch."""
    return _mask_bytes(facts, shape) + _n_tokens(shape) * _NUMBER * (facts.n_embd or 0)


def logits_bytes(facts: ModelFacts, shape: LoadShape) -> int:
    """One row of logits for each sequence, and for each drafted token once there are any; always in RAM."""
    return (shape.n_seq_max + MOST_DRAFTED) * (facts.n_vocab or 0) * _NUMBER


def borrowed_bytes(facts: ModelFacts, n_layers_on_cpu: int) -> int:
    """What a card needs to compute layers that lie in RAM: their largest matrix is copied to it for a prompt.

    A layer's largest matrix is about a third of it.
    """
    largest = max(facts.layer_bytes[:n_layers_on_cpu], default=0) // 3
    has_output = n_layers_on_cpu > facts.n_layers
    return max(largest, facts.output_bytes + facts.output_copy_bytes if has_output else 0)


def _mask_bytes(facts: ModelFacts, shape: LoadShape) -> int:
    """Layers that see all and layers that slide have a mask each."""
    number = _FLASH_MASK_NUMBER if _is_flash(shape) else _NUMBER
    n_masks = len({layer.kind for layer in facts.layers} & {LayerKind.FULL, LayerKind.SLIDING})
    return n_masks * _n_tokens(shape) * padded_cells(shape.n_ctx) * number


def _is_flash(shape: LoadShape) -> bool:
    """Where it is left to llama.cpp, nearly all devices can."""
    return shape.options.flash_attention is not FlashAttention.OFF


def _n_tokens(shape: LoadShape) -> int:
    return min(shape.options.n_ubatch, padded_cells(shape.n_ctx))
