"""What a model is, told from its header alone: sizes, layers, what its cache holds, what it is for.

A `GGUFHeader` goes in (with those of its other parts), `ModelFacts` come out. Knows nothing about this
machine, nor about llama.cpp's state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from engine.models.byte_reader import shown
from engine.models.cache_facts import (
    NOT_COUNTED_WHOLE,
    WITHOUT_MEMORY,
    LayerFacts,
    LayerKind,
    head_sizes,
    layers_of,
)
from engine.models.gguf_header import GGUFHeader
from engine.models.gguf_metadata import ArrayValue
from engine.models.gguf_tensors import TensorInfo
from engine.models.kind_facts import ModelKind, has_chat_template, kind_of
from engine.models.metadata_facts import LayerMetadata
from engine.models.model_file import check_layers
from engine.models.model_parts import PART_NAME, headers_of, n_parts_of
from engine.models.placement_facts import place
from engine.models.plausible_facts import why_implausible
from engine.models.rearranged_facts import RearrangedFacts, rearranged_of
from engine.models.sliding_facts import sliding_window
from engine.models.state_facts import HYBRID, RECURRENT
from engine.models.weight_facts import WeightFacts, quantization_label, weigh

__all__ = ["LayerFacts", "LayerKind", "ModelFacts", "ModelKind", "facts_of", "read_facts"]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model as its file describes it; None where the file does not say. Sizes in bytes.

    `n_active_params` and `active_bytes`: what one token reads (of a mixture of experts, the experts used);
    the token embeddings, of which a token reads one row, are not in it unless they are the output too.
    `tensor_bytes`: bytes by tensor type, as "Q4_K". `layers`: one for each block, in order.
    `weights_bytes` are those that llama.cpp loads: layers that predict further tokens stay in the file.
    `reason`: a sentence why it cannot chat, or why its cache cannot shift; None where both go.
    `key_length`, `value_length`: numbers in one head's key and value, of layers that see all.
    `is_cache_exact` is False for the few architectures whose caches hold more than `layers` tells.
    `layer_bytes`: weights of each block. `output_bytes`: those that lie with the output layer;
    `output_copy_bytes`: the token embeddings, where they are the output too and another device computes it.
    `inner_width`: numbers that one token has inside the widest layer. `n_merges`: pairs that the tokenizer
    joins, None if not known.
    `rearranged`: what is laid anew for the processor, where no card takes part.
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
    key_length: int | None = None
    value_length: int | None = None
    q_lora_rank: int | None = None
    is_cache_exact: bool = True
    layer_bytes: tuple[int, ...] = ()
    output_bytes: int = 0
    output_copy_bytes: int = 0
    inner_width: int = 0
    n_merges: int | None = None
    rearranged: RearrangedFacts = field(default_factory=RearrangedFacts)

    @property
    def is_chat_model(self) -> bool:
        """Whether it can answer in a chat."""
        return self.kind in (ModelKind.CHAT, ModelKind.TEXT)

    @property
    def has_recurrent_state(self) -> bool:
        """Whether some layers keep a state, which cannot forget single tokens."""
        return any(layer.state_values for layer in self.layers)


# Positions of several numbers (M-RoPE) cannot be moved; nor can Step-3.5's, which differ by layer.
# Source: llama_model_rope_type in llama.cpp's src/llama-model.cpp, get_can_shift in src/llama-kv-cache.cpp.
_FIXED_POSITIONS = frozenset(
    {
        "paddleocr",
        "qwen2vl",
        "qwen35",
        "qwen35moe",
        "qwen3tts",
        "qwen3vl",
        "qwen3vlmoe",
        "qwen4exp",
        "step35",
    }
)
_FIXED_IF_SECTIONED = frozenset({"bailingmoe3", "glm4", "glm4moe", "hunyuan_vl"})
_READ_AGAIN = "the newest turns are read again whenever the context is full"


def read_facts(path: Path) -> ModelFacts:
    """The facts of the model at `path`, the first part's if it is split.

    Raises ModelFileError, naming the file and the cause, for a file that is missing, unreadable, not GGUF,
    damaged or cut short, and for a model with a part missing.
    """
    return facts_of(headers_of(path))


def facts_of(headers: Sequence[GGUFHeader]) -> ModelFacts:
    """The facts of the model whose parts have these `headers`, the first part's first.

    Raises ModelFileError where they contradict themselves.
    """
    header = headers[0]
    tensors = [tensor for part in headers for tensor in part.tensors]
    kind, cause = kind_of(header, bool(tensors))
    metadata = LayerMetadata(header)
    if cause is None:
        check_layers(header, tensors)
        cause = why_implausible(metadata)
        kind = kind if cause is None else ModelKind.OTHER
    n_heads = metadata.per_layer("attention.head_count")
    head = head_sizes(metadata, n_heads[0] if n_heads else 0)
    cannot_shift = _why_it_cannot_shift(metadata)
    name = _model_name(header)
    weights = _weigh(metadata, tensors)
    n_experts_used = max(metadata.per_layer("expert_used_count"), default=0)
    placed = place(tensors, metadata.n_layers, metadata.n_trunk, n_experts_used)
    return ModelFacts(
        name=name,
        architecture=metadata.architecture,
        kind=kind,
        n_params=weights.n_params,
        n_active_params=weights.n_active_params,
        weights_bytes=weights.weights_bytes,
        active_bytes=weights.active_bytes,
        tensor_bytes=weights.tensor_bytes,
        quantization=quantization_label(header.integer("general.file_type"), weights.tensor_bytes),
        n_layers=metadata.n_layers,
        n_heads=max(n_heads, default=0) or None,
        n_embd=metadata.count("embedding_length") or None,
        n_vocab=metadata.count("vocab_size") or _n_items(header, "tokens") or None,
        n_ctx_train=metadata.count("context_length") or None,
        layers=layers_of(metadata) if cause is None else (),
        sliding_window=sliding_window(metadata) or None,
        rope_scaling=header.text(f"{metadata.architecture}.rope.scaling.type"),
        n_experts=metadata.count("expert_count") or None,
        n_experts_used=n_experts_used or None,
        kv_lora_rank=metadata.count("attention.kv_lora_rank") or None,
        tokenizer=header.text("tokenizer.ggml.model"),
        has_chat_template=has_chat_template(header),
        license=header.text("general.license"),
        can_shift=cause is None and cannot_shift is None,
        reason=cannot_shift if cause is None else f"{shown(name)} {cause}.",
        key_length=head.keys or None,
        value_length=head.values or None,
        q_lora_rank=metadata.count("attention.q_lora_rank") or None,
        is_cache_exact=metadata.architecture not in NOT_COUNTED_WHOLE,
        layer_bytes=placed.layer_bytes,
        output_bytes=placed.output_bytes,
        output_copy_bytes=placed.output_copy_bytes,
        inner_width=placed.inner_width,
        n_merges=_n_items(header, "merges"),
        rearranged=rearranged_of([part.tensors for part in headers]),
    )


def _model_name(header: GGUFHeader) -> str:
    """What people call the model: its file's name, without a part's number if it is one."""
    # `general.name` is often a training run's, and differs from what people chose.
    part = PART_NAME.fullmatch(header.path.name)
    return part["prefix"] if part and n_parts_of(header) > 1 else header.path.stem


def _n_items(header: GGUFHeader, name: str) -> int:
    """How many tokens, or merges, the vocabulary has."""
    found = header.metadata.get(f"tokenizer.ggml.{name}")
    return found.count if isinstance(found, ArrayValue) else 0


def _weigh(metadata: LayerMetadata, tensors: Sequence[TensorInfo]) -> WeightFacts:
    n_experts = metadata.count("expert_count")
    used = metadata.per_layer("expert_used_count")
    shares = [min(Fraction(1), Fraction(n, n_experts)) if n_experts else Fraction(1) for n in used]
    return weigh(tensors, metadata.n_trunk if metadata.n_layers else len(tensors), shares)


def _why_it_cannot_shift(metadata: LayerMetadata) -> str | None:
    """A sentence, or None for a cache whose middle can be dropped and whose positions can be moved."""
    architecture = metadata.architecture
    if architecture in RECURRENT | HYBRID:
        return f"This model's state cannot forget single turns: {_READ_AGAIN}."
    if architecture in WITHOUT_MEMORY:
        return f"This model keeps nothing of what it read: {_READ_AGAIN}."
    sections = metadata.items("rope.dimension_sections") if architecture in _FIXED_IF_SECTIONED else ()
    if architecture in _FIXED_POSITIONS or (len(sections) > 1 and all(sections[:2])):
        return f"This model's positions cannot be moved: {_READ_AGAIN}."
    return None
