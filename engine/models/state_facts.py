"""Which layers keep a recurrent state instead of keys and values, and how large it is.

A model's numbers go in, one switch for each layer and a count of numbers come out. Which architectures
are recurrent or hybrid is `llm_arch_is_recurrent` and `llm_arch_is_hybrid` in llama.cpp's
src/llama-arch.cpp; which layers of a hybrid are, its `load_arch_hparams` in src/models/*.cpp.
"""

from __future__ import annotations

from engine.models.metadata_facts import LayerMetadata

RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
NEMOTRON = frozenset({"nemotron_h", "nemotron_h_moe"})
_ALL_LAYERS_BOTH = "falcon-h1"  # attention and a state side by side in every layer

# A layer without KV heads is a recurrent one.
_BY_HEADS = frozenset(
    {
        "bailingmoe3",
        "glm5-next",
        "granitehybrid",
        "jamba",
        "kimi-k3",
        "kimi-linear",
        "lfm2",
        "lfm2moe",
        "plamo2",
    }
)
# Every n-th layer has attention.
BY_INTERVAL = {"minimax-01": 8, "qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "qwen4exp": 4}

_WITHOUT_GROUPS = frozenset({"jamba", "mamba"})  # whatever their files say: Mamba 1 has none

HYBRID = _BY_HEADS | NEMOTRON | frozenset(BY_INTERVAL) | {_ALL_LAYERS_BOTH, "deepseek4"}


def recurrent_layers(metadata: LayerMetadata, n_kv_heads: tuple[int, ...]) -> tuple[bool, ...]:
    """For each layer whether it keeps a state. Raises ModelFileError for lists of a wrong length."""
    architecture, layers = metadata.architecture, range(metadata.n_layers)
    if architecture in RECURRENT or architecture == _ALL_LAYERS_BOTH:
        found = [True] * len(layers)
    elif architecture in _BY_HEADS:
        found = [n_kv_heads[layer] == 0 for layer in layers]
    elif architecture in NEMOTRON:
        widths = metadata.per_layer("feed_forward_length")
        found = [n_kv_heads[layer] == widths[layer] == 0 for layer in layers]
    elif architecture in BY_INTERVAL:
        found = _by_interval(metadata)
    else:
        found = [False] * len(layers)
    return tuple(found[layer] and layer < metadata.n_trunk for layer in layers)


def keeps_cache_beside_state(metadata: LayerMetadata) -> bool:
    """Whether the recurrent layers have attention too."""
    return metadata.architecture == _ALL_LAYERS_BOTH


def _by_interval(metadata: LayerMetadata) -> list[bool]:
    if metadata.has("attention.recurrent_layers"):
        return list(map(bool, metadata.per_layer("attention.recurrent_layers")))
    interval = metadata.count("full_attention_interval", BY_INTERVAL[metadata.architecture]) or 1
    return [(layer + 1) % interval != 0 for layer in range(metadata.n_layers)]


def state_values(metadata: LayerMetadata, n_heads: int, head_size: int) -> int:
    """Numbers in one recurrent layer's state of one sequence, the convolution's and the state's own.

    `n_heads`, `head_size`: of the first layer, and of the keys. Source: `n_embd_r` and `n_embd_s` in
    llama.cpp's src/llama-hparams.cpp.
    """
    n_embd = metadata.count("embedding_length")
    wkv_head = metadata.count("wkv.head_size")
    if wkv_head:  # RWKV
        return n_embd * (metadata.count("token_shift_count", 2) + wkv_head)
    n_convolved = max(0, metadata.count("ssm.conv_kernel") - 1)
    if metadata.has("shortconv.l_cache"):  # LFM2
        return n_embd * max(0, metadata.count("shortconv.l_cache") - 1)
    delta_head = metadata.count("kda.head_dim")
    if delta_head:  # Kimi
        return 3 * (n_convolved or 3) * n_heads * delta_head + delta_head**2 * n_heads
    if metadata.architecture == "minimax-01":  # lightning attention
        return head_size**2 * n_heads
    # Mamba and gated delta nets
    inner, state = metadata.count("ssm.inner_size"), metadata.count("ssm.state_size")
    n_groups = 0 if metadata.architecture in _WITHOUT_GROUPS else metadata.count("ssm.group_count")
    return n_convolved * (inner + 2 * n_groups * state) + state * inner
