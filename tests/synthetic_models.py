"""The smallest networks with random weights that llama.cpp loads and decodes.

Out come names, settings and tensors, one `Network` per architecture; `tests.model_files` writes them
to disk with a tokenizer. The same seed gives the same bytes. What the networks say is noise: they
stand for an architecture's memory behaviour and for its speed, never for its answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Tensor = npt.NDArray[np.float16] | npt.NDArray[np.float32]

EMBEDDING = 64


@dataclass(frozen=True)
class Network:
    """An architecture's settings (without the `<architecture>.` prefix) and its tensors.

    Shapes are NumPy's, slowest axis first; integers are written as uint32, one for each layer as an array of
    them, floats as float32.
    """

    architecture: str
    settings: Mapping[str, int | float | Sequence[int]]
    tensors: Mapping[str, Tensor]


class Weights:
    """Random matrices as float16, and what llama.cpp wants as float32: vectors and norms."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def matrix(self, n_rows: int, n_columns: int) -> npt.NDArray[np.float16]:
        return self.matrix32(n_rows, n_columns).astype(np.float16)

    def matrix32(self, n_rows: int, n_columns: int) -> npt.NDArray[np.float32]:
        return self._random.standard_normal((n_rows, n_columns), np.float32) * np.float32(0.05)

    def stack(self, n: int, n_rows: int, n_columns: int) -> npt.NDArray[np.float16]:
        """`n` matrices, one for each head or expert."""
        return self.matrix(n * n_rows, n_columns).reshape(n, n_rows, n_columns)

    def vector(self, n: int) -> npt.NDArray[np.float32]:
        return self._random.standard_normal(n, np.float32) * np.float32(0.05)


def ones(*shape: int) -> npt.NDArray[np.float32]:
    return np.ones(shape, np.float32)


def llama(
    n_vocab: int, *, n_layers: int, n_ctx_train: int, seed: int, tied: bool = True, n_kv_heads: int = 2
) -> Network:
    """A plain transformer, 2 heads of 32; the output matrix is the embedding unless `tied` is False."""
    weights = Weights(seed)
    n_feed_forward = 128
    tensors: dict[str, Tensor] = {
        "token_embd.weight": weights.matrix(n_vocab, EMBEDDING),
        "output_norm.weight": ones(EMBEDDING),
    }
    if not tied:
        tensors["output.weight"] = weights.matrix(n_vocab, EMBEDDING)
    for layer in range(n_layers):
        block = f"blk.{layer}."
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"{block}{name}.weight"] = ones(EMBEDDING)
        for name, n_heads in (
            ("attn_q", 2),
            ("attn_k", n_kv_heads),
            ("attn_v", n_kv_heads),
            ("attn_output", 2),
        ):
            tensors[f"{block}{name}.weight"] = weights.matrix(n_heads * 32, EMBEDDING)
        for name in ("ffn_gate", "ffn_up"):
            tensors[f"{block}{name}.weight"] = weights.matrix(n_feed_forward, EMBEDDING)
        tensors[f"{block}ffn_down.weight"] = weights.matrix(EMBEDDING, n_feed_forward)
    settings = {
        "context_length": n_ctx_train,
        "embedding_length": EMBEDDING,
        "feed_forward_length": n_feed_forward,
        "attention.head_count": 2,
        "attention.head_count_kv": n_kv_heads,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": 32,
        "block_count": n_layers,
    }
    return Network("llama", settings, tensors)


def mamba(n_vocab: int, *, seed: int) -> Network:
    """Two recurrent layers: the cache is one state per sequence, from which no token can be dropped."""
    weights = Weights(seed)
    n_layers, n_inner, n_state, n_conv, n_step = 2, 128, 16, 4, 4
    tensors: dict[str, Tensor] = {
        "token_embd.weight": weights.matrix(n_vocab, EMBEDDING),
        "output_norm.weight": ones(EMBEDDING),
    }
    for layer in range(n_layers):
        block = f"blk.{layer}."
        tensors |= {
            f"{block}attn_norm.weight": ones(EMBEDDING),
            f"{block}ssm_in.weight": weights.matrix(2 * n_inner, EMBEDDING),
            f"{block}ssm_conv1d.weight": weights.matrix32(n_inner, n_conv),
            f"{block}ssm_conv1d.bias": weights.vector(n_inner),
            f"{block}ssm_x.weight": weights.matrix(n_step + 2 * n_state, n_inner),
            f"{block}ssm_dt.weight": weights.matrix32(n_inner, n_step),
            f"{block}ssm_dt.bias": weights.vector(n_inner),
            f"{block}ssm_a": -ones(n_inner, n_state),
            f"{block}ssm_d": ones(n_inner),
            f"{block}ssm_out.weight": weights.matrix(EMBEDDING, n_inner),
        }
    settings = {
        "context_length": 2048,
        "embedding_length": EMBEDDING,
        "feed_forward_length": 0,
        "attention.head_count": 0,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "ssm.conv_kernel": n_conv,
        "ssm.inner_size": n_inner,
        "ssm.state_size": n_state,
        "ssm.time_step_rank": n_step,
        "block_count": n_layers,
    }
    return Network("mamba", settings, tensors)


def gemma3(n_vocab: int, *, sliding_window: int, seed: int, head: int = 32) -> Network:
    """Six layers, five of which see only the last `sliding_window` tokens; 2 heads over 1 KV head."""
    weights = Weights(seed)
    n_layers, n_heads, n_feed_forward = 6, 2, 128
    norms = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    tensors: dict[str, Tensor] = {
        "token_embd.weight": weights.matrix(n_vocab, EMBEDDING),
        "output_norm.weight": ones(EMBEDDING),
    }
    for layer in range(n_layers):
        block = f"blk.{layer}."
        tensors |= {f"{block}{name}.weight": ones(EMBEDDING) for name in norms}
        tensors |= {f"{block}{name}.weight": ones(head) for name in ("attn_q_norm", "attn_k_norm")}
        tensors |= {
            f"{block}attn_q.weight": weights.matrix(n_heads * head, EMBEDDING),
            f"{block}attn_k.weight": weights.matrix(head, EMBEDDING),
            f"{block}attn_v.weight": weights.matrix(head, EMBEDDING),
            f"{block}attn_output.weight": weights.matrix(EMBEDDING, n_heads * head),
            f"{block}ffn_gate.weight": weights.matrix(n_feed_forward, EMBEDDING),
            f"{block}ffn_up.weight": weights.matrix(n_feed_forward, EMBEDDING),
            f"{block}ffn_down.weight": weights.matrix(EMBEDDING, n_feed_forward),
        }
    settings = {
        "context_length": 8192,
        "embedding_length": EMBEDDING,
        "feed_forward_length": n_feed_forward,
        "attention.head_count": n_heads,
        "attention.head_count_kv": 1,
        "attention.key_length": head,
        "attention.value_length": head,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.sliding_window": sliding_window,
        "rope.freq_base": 10000.0,
        "block_count": n_layers,
    }
    return Network("gemma3", settings, tensors)
