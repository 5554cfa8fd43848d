"""What a model is, told from its header alone: sizes, layers, what its cache holds, what it is for.

A `GGUFHeader` goes in (with those of its other parts), `ModelFacts` come out. Knows nothing about this
machine, nor about llama.cpp's state.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class ModelKind(enum.StrEnum):
    """What a file is for; all but CHAT and TEXT cannot answer in a chat."""

    CHAT = "chat"  # a language model with a chat template
    TEXT = "text"  # a language model without one: a fallback format is used
    EMBEDDING = "embedding"
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    VOCABULARY = "vocabulary"
    OTHER = "other"


class LayerKind(enum.StrEnum):
    """What a layer keeps of the tokens before."""

    FULL = "full"  # keys and values of all tokens
    SLIDING = "sliding"  # those of the last `sliding_window` tokens
    RECURRENT = "recurrent"  # a state of constant size
    NONE = "none"  # nothing: a layer without attention


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """One layer's cache: `key_values` and `value_values` are cached numbers a token (all KV heads together).

    `state_values`: numbers of a recurrent state for each sequence, kept as 32-bit floats; 0 without one.
    """

    kind: LayerKind
    n_kv_heads: int = 0
    key_values: int = 0
    value_values: int = 0
    state_values: int = 0


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model as its file describes it; None where the file does not say. Sizes in bytes.

    `n_active_params` and `active_bytes`: what one token reads (of a mixture of experts, the experts used);
    the token embeddings, of which a token reads one row, are not in it unless they are the output too.
    `tensor_bytes`: bytes by tensor type, as "Q4_K". `layers`: one for each block, in order.
    `reason`: a sentence why it cannot chat, or why its cache cannot shift; None where both go.
    """

    name: str
    architecture: str
    kind: ModelKind
    n_params: int
    n_active_params: int
    weights_bytes: int
    active_bytes: int
    tensor_bytes: Mapping[str, int]
    quantization: str
    n_layers: int
    n_heads: int | None
    n_embd: int | None
    n_vocab: int | None
    n_ctx_train: int | None
    layers: tuple[LayerFacts, ...]
    sliding_window: int | None
    rope_scaling: str | None
    n_experts: int | None
    n_experts_used: int | None
    kv_lora_rank: int | None
    tokenizer: str | None
    has_chat_template: bool
    license: str | None
    can_shift: bool
    reason: str | None

    @property
    def is_chat_model(self) -> bool:
        """Whether it can answer in a chat."""
        return self.kind in (ModelKind.CHAT, ModelKind.TEXT)
