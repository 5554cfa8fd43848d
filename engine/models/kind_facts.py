"""What a file is for: a chat model, or one of its neighbours in a download folder.

A header goes in, a kind and the reason come out. Judged by what the file says about itself, never by its
name. An architecture that is not known here counts as a language model: llama.cpp will judge it.
"""

from __future__ import annotations

import enum

from engine.models.architectures import is_known
from engine.models.gguf_header import GGUFHeader


class ModelKind(enum.StrEnum):
    """What a file is for; all but CHAT and TEXT cannot answer in a chat."""

    CHAT = "chat"  # a language model with a chat template
    TEXT = "text"  # a language model without one: a fallback format is used
    EMBEDDING = "embedding"
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    VOCABULARY = "vocabulary"
    OTHER = "other"


_PROJECTOR = (
    ModelKind.PROJECTOR,
    "is a projector, the image or sound part of another model, and cannot chat by itself",
)
_EMBEDDING = (
    ModelKind.EMBEDDING,
    "is an embedding or reranking model, which compares texts and writes none",
)
_BY_TYPE = {
    "mmproj": _PROJECTOR,
    "adapter": (
        ModelKind.ADAPTER,
        "is a LoRA adapter, a small change to another model, and cannot chat by itself",
    ),
    "imatrix": (
        ModelKind.OTHER,
        "is an importance matrix, which helps to quantize models and cannot chat",
    ),
}
_BY_ARCHITECTURE = {
    "clip": _PROJECTOR,
    "controlvector": (
        ModelKind.ADAPTER,
        "is a control vector, a small change to another model, and cannot chat by itself",
    ),
    "gemma-embedding": _EMBEDDING,
    "llama-embed": _EMBEDDING,
    "t5encoder": _EMBEDDING,
}
_NO_ARCHITECTURE = (
    ModelKind.OTHER,
    "does not say which architecture it has, so it cannot be loaded",
)


def kind_of(header: GGUFHeader, has_tensors: bool) -> tuple[ModelKind, str | None]:
    """What the model with this first `header` is, and why it cannot chat, to be said after its name.

    The reason is None for a language model. `has_tensors`: in any of its parts.
    """
    architecture = header.text("general.architecture") or ""
    known = _BY_TYPE.get(header.text("general.type") or "") or _BY_ARCHITECTURE.get(architecture)
    if known:
        return known
    if not architecture:
        return _NO_ARCHITECTURE
    # Pooling turns a text into one vector: 0 is none, 1 to 3 embed, 4 ranks.
    if "bert" in architecture or header.integer(f"{architecture}.pooling_type"):
        return _EMBEDDING
    if not has_tensors:
        return _no_weights(architecture)
    return (ModelKind.CHAT if has_chat_template(header) else ModelKind.TEXT), None


def _no_weights(architecture: str) -> tuple[ModelKind, str]:
    if not is_known(architecture):
        unknown = f"the architecture {architecture!r:.60}, which this Weir's llama.cpp does not know"
        return ModelKind.OTHER, f"has {unknown}, holds no weights and cannot chat"
    return ModelKind.VOCABULARY, "holds a vocabulary without a model's weights and cannot chat"


def has_chat_template(header: GGUFHeader) -> bool:
    """Whether the file brings a chat template that is text, in UTF-8 or not."""
    template = header.metadata.get("tokenizer.chat_template")
    return isinstance(template, str | bytes) and bool(template)
