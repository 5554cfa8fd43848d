"""Models that are worth quantizing: rows of 256 weights and a vocabulary of 300 words, half a megabyte each.

They are noise, and load where the test says which tokenizer they have.
"""

from __future__ import annotations

from pathlib import Path

import gguf

from tests.model_files import TokenizerField, TokenizerFields, write_network
from tests.synthetic_models import Network, Tensor, Weights, ones

WIDTH = 256


def write_wide(
    path: Path,
    tokenizer: TokenizerFields | None = None,
    *,
    n_layers: int = 2,
    tied: bool = True,
    n_experts: int = 0,
    kind: gguf.GGMLQuantizationType | None = None,
) -> Path:
    """A `llama` in F16 with two heads over one KV head; `kind` is another type for all matrices."""
    words = tokenizer or plain_tokenizer()
    network = _llama(words.n_vocab, n_layers, tied, n_experts)
    matrices = [name for name, tensor in network.tensors.items() if tensor.ndim > 1]
    if kind:
        wide = {name: network.tensors[name].astype("float32") for name in matrices}
        network = Network(network.architecture, network.settings, {**network.tensors, **wide})
    return write_network(path, network, words, dict.fromkeys(matrices, kind) if kind else None)


def plain_tokenizer(n_vocab: int = 300) -> TokenizerFields:
    array, types = gguf.GGUFValueType.ARRAY, gguf.GGUFValueType
    return TokenizerFields(
        (
            TokenizerField("tokenizer.ggml.model", "llama", types.STRING),
            TokenizerField("tokenizer.ggml.tokens", [f"t{n}" for n in range(n_vocab)], array, types.STRING),
            TokenizerField("tokenizer.ggml.scores", [0.0] * n_vocab, array, types.FLOAT32),
            TokenizerField("tokenizer.ggml.token_type", [1] * n_vocab, array, types.INT32),
        )
    )


def _llama(n_vocab: int, n_layers: int, tied: bool, n_experts: int) -> Network:
    weights = Weights(0)
    tensors: dict[str, Tensor] = {
        "token_embd.weight": weights.matrix(n_vocab, WIDTH),
        "output_norm.weight": ones(WIDTH),
    }
    if not tied:
        tensors["output.weight"] = weights.matrix(n_vocab, WIDTH)
    for layer in range(n_layers):
        block = f"blk.{layer}."
        tensors |= {f"{block}{name}.weight": ones(WIDTH) for name in ("attn_norm", "ffn_norm")}
        for name, n_rows in (("attn_q", 256), ("attn_k", 128), ("attn_v", 128), ("attn_output", 256)):
            tensors[f"{block}{name}.weight"] = weights.matrix(n_rows, WIDTH)
        for name in ("ffn_gate", "ffn_up", "ffn_down"):
            if n_experts:
                tensors[f"{block}{name}_exps.weight"] = weights.stack(n_experts, WIDTH, WIDTH)
            else:
                tensors[f"{block}{name}.weight"] = weights.matrix(WIDTH, WIDTH)
        if n_experts:
            tensors[f"{block}ffn_gate_inp.weight"] = weights.matrix32(n_experts, WIDTH)
    settings: dict[str, int | float] = {
        "context_length": 512,
        "embedding_length": WIDTH,
        "feed_forward_length": WIDTH,
        "attention.head_count": 2,
        "attention.head_count_kv": 1,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": 128,
        "block_count": n_layers,
        "vocab_size": n_vocab,
    }
    if n_experts:
        settings |= {"expert_count": n_experts, "expert_used_count": 2}
    return Network("llama", settings, tensors)
