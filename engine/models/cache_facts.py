"""What each layer of a model keeps of the tokens before: keys, values, a window of them, or a state.

A model's numbers go in, one `LayerFacts` for each layer comes out. Which layers have a cache follows
`llama_model::create_memory` in llama.cpp's src/llama-model.cpp, how wide a row is follows `n_embd_k_gqa`
and `n_embd_v_gqa` in src/llama-hparams.cpp. How many tokens are kept, and in which type, is not known here.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.models.metadata_facts import MAX_LAYERS, LayerMetadata
from engine.models.sliding_facts import sliding_layers
from engine.models.state_facts import (
    BY_INTERVAL,
    HYBRID,
    NEMOTRON,
    RECURRENT,
    keeps_cache_beside_state,
    recurrent_layers,
    state_values,
)

# Text diffusion: the whole text is evaluated each time, nothing is kept.
WITHOUT_MEMORY = frozenset({"dream", "llada", "llada-moe", "rnd1"})

# Their caches hold more than keys and values (a sparse index, compressed blocks, a router): what is
# counted here is the lower bound, and only llama.cpp's own count is exact.
NOT_COUNTED_WHOLE = frozenset(
    {
        "deepseek32",
        "deepseek4",
        "dflash",
        "dots3note",
        "gemma4-assistant",
        "glm-dsa",
        "glm5-next",
        "graniteswitch",
        "hy_v4",
        "minimax-m3",
        "qwen4exp",
    }
)
_GEMMA3N_OWN_CACHES = 20  # the layers above share the last ones'


class LayerKind(enum.StrEnum):
    """What a layer keeps of the tokens before."""

    FULL = "full"  # keys and values of all tokens
    SLIDING = "sliding"  # those of the last `sliding_window` tokens
    RECURRENT = "recurrent"  # a state of constant size
    NONE = "none"  # nothing: a layer without attention


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """One layer's cache: `key_values` and `value_values` are cached numbers a token (all KV heads together).

    Both are 0 in a FULL or SLIDING layer that reads another layer's cache. `state_values`: numbers of a
    recurrent state for each sequence, kept as 32-bit floats; 0 without one.
    """

    kind: LayerKind
    n_kv_heads: int = 0
    key_values: int = 0
    value_values: int = 0
    state_values: int = 0


@dataclass(frozen=True, slots=True)
class HeadSizes:
    """Numbers in one head's key and value; `values` is 0 where the value is part of the key (MLA)."""

    keys: int
    values: int


def layers_of(metadata: LayerMetadata) -> tuple[LayerFacts, ...]:
    """One for each layer, in order; of a looped model one for each pass through it.

    Raises ModelFileError where the file's lists do not fit its layers.
    """
    if not metadata.n_layers:
        return ()
    n_heads = metadata.per_layer("attention.head_count")
    n_kv_heads = metadata.per_layer("attention.head_count_kv", n_heads)
    recurrent = recurrent_layers(metadata, n_kv_heads)
    cached = _cached_layers(metadata, recurrent)
    sliding = sliding_layers(metadata, recurrent)
    full, slid = head_sizes(metadata, n_heads[0]), head_sizes(metadata, n_heads[0], "_swa")
    state = state_values(metadata, n_heads[0], full.keys) if any(recurrent) else 0
    layers = []
    for layer, heads in enumerate(n_kv_heads):
        size, width = slid if sliding[layer] else full, heads if cached[layer] else 0
        kept = (width * size.keys, width * size.values, state if recurrent[layer] else 0)
        if recurrent[layer] and not cached[layer]:
            kind = LayerKind.RECURRENT
        elif not heads or not (cached[layer] or _shares_cache(metadata, layer)):
            kind = LayerKind.NONE
        else:
            kind = LayerKind.SLIDING if sliding[layer] else LayerKind.FULL
        layers.append(LayerFacts(kind, heads, *kept))
    return tuple(layers) * _passes(metadata)


def head_sizes(metadata: LayerMetadata, n_heads: int, suffix: str = "") -> HeadSizes:
    """The sizes of full layers' heads, or with `suffix` "_swa" of sliding layers' heads.

    `n_heads`: of the first layer. Source: `llama_model_base::load_hparams` in llama.cpp's
    src/llama-model.cpp. With MLA one latent of `kv_lora_rank` numbers and the rotated part are kept as a
    key, and nothing as a value (`has_v` in src/llama-kv-cache.cpp); files from before MLA was known keep
    whole keys and values.
    """
    if not n_heads and metadata.architecture != "plamo2":
        return HeadSizes(0, 0)
    even = metadata.count("embedding_length") // n_heads if n_heads else 0
    keys = metadata.count("attention.key_length", even)
    values = metadata.count("attention.value_length", even)
    if suffix:
        keys = metadata.count(f"attention.key_length{suffix}", keys)
        values = metadata.count(f"attention.value_length{suffix}", values)
    return HeadSizes(keys, 0 if is_latent(metadata) else values)


def is_latent(metadata: LayerMetadata) -> bool:
    """Whether attention is multi-head latent attention (MLA), as llama.cpp computes it for this file."""
    return bool(metadata.count("attention.key_length_mla") and metadata.count("attention.value_length_mla"))


def _cached_layers(metadata: LayerMetadata, recurrent: tuple[bool, ...]) -> tuple[bool, ...]:
    """For each layer whether it has keys and values of its own."""
    architecture, layers = metadata.architecture, range(metadata.n_layers)
    if architecture in RECURRENT | WITHOUT_MEMORY:
        return (False,) * len(layers)
    if keeps_cache_beside_state(metadata):
        return (True,) * len(layers)
    n_cached = _first_without_own_cache(metadata)
    cached = tuple(layer < n_cached and not recurrent[layer] for layer in layers)
    if architecture in NEMOTRON:
        widths = metadata.per_layer("feed_forward_length")
        cached = tuple(is_cached and not widths[layer] for layer, is_cached in enumerate(cached))
    return cached


def _first_without_own_cache(metadata: LayerMetadata) -> int:
    architecture = metadata.architecture
    if architecture == "gemma3n":
        return _GEMMA3N_OWN_CACHES
    if architecture == "gemma4":
        return metadata.n_layers - metadata.count("attention.shared_kv_layers")
    # Layers that predict further tokens have a cache in most hybrids, though nothing uses it.
    if metadata.n_trunk and (architecture not in HYBRID or architecture in BY_INTERVAL):
        return metadata.n_trunk
    return metadata.n_layers


def _shares_cache(metadata: LayerMetadata, layer: int) -> bool:
    return metadata.architecture in ("gemma3n", "gemma4") and layer < metadata.n_trunk


def _passes(metadata: LayerMetadata) -> int:
    """How often a token passes all layers, each time with a cache of its own."""
    if metadata.architecture != "nanbeige":
        return 1
    return max(1, min(metadata.count("num_loops", 1), MAX_LAYERS // metadata.n_layers))
