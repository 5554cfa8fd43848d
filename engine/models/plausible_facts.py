"""Whether a header's claims can be those of a model at all.

The numbers of a language model go in, why they cannot be true comes out. Only what makes llama.cpp refuse the
file, or end its process, is judged here. Knows nothing about what the numbers are used for.
"""

from __future__ import annotations

from engine.models.architectures import is_known
from engine.models.metadata_facts import LayerMetadata
from engine.models.state_facts import RECURRENT

_LARGEST_HEAD = 2**14  # numbers; the largest known have some hundred


def why_implausible(metadata: LayerMetadata) -> str | None:
    """What speaks against the file, to be said after its name; None where nothing does."""
    architecture = metadata.architecture
    if not is_known(architecture):
        return f"has the architecture {architecture!r:.60}, which this Weir's llama.cpp does not know"
    claim = _absurd_claim(metadata)
    return None if claim is None else f"is damaged: {claim}"


def _absurd_claim(metadata: LayerMetadata) -> str | None:
    if not metadata.n_layers:
        return "it does not say how many layers it has"
    n_used, n_experts = max(metadata.per_layer("expert_used_count")), metadata.count("expert_count")
    if n_used > n_experts:
        return f"it claims to use {n_used:,} experts for a token, and has {n_experts:,}"
    return None if metadata.architecture in RECURRENT else _absurd_heads(metadata)


def _absurd_heads(metadata: LayerMetadata) -> str | None:
    n_heads = metadata.per_layer("attention.head_count")
    n_kv_heads = metadata.per_layer("attention.head_count_kv", n_heads)
    if not max(n_heads):
        return "it does not say how many attention heads it has"
    if max(n_kv_heads) > max(n_heads):
        return f"it claims {max(n_kv_heads):,} KV heads for {max(n_heads):,} heads"
    even = metadata.count("embedding_length") // max(n_heads)
    for key in ("attention.key_length", "attention.value_length"):
        if metadata.count(key, even) > _LARGEST_HEAD:
            return f"it claims {metadata.count(key, even):,} numbers in one attention head"
    return None
