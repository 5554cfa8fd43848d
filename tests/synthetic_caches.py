"""Small networks whose caches differ from the plain ones: heads by layer, latent attention, hybrids.

Like `tests.synthetic_models`, which has the plain ones: random weights, same seed, same bytes. Heads are
of 32 or 64 numbers, so that every type of KV cache can hold them.
"""

from __future__ import annotations

from tests.synthetic_models import EMBEDDING, Network, Tensor, Weights, ones

_FEED_FORWARD = 128
_HEAD = 32


def openelm(n_vocab: int, *, seed: int = 0) -> Network:
    """Three layers with 1, 2 and 1 KV heads under 2, 4 and 2 heads."""
    weights, tensors = _start(n_vocab, seed)
    n_heads, n_kv_heads = (2, 4, 2), (1, 2, 1)
    for layer, (heads, kv_heads) in enumerate(zip(n_heads, n_kv_heads, strict=True)):
        block = f"blk.{layer}."
        tensors |= _feed_forward(weights, block)
        tensors |= {
            f"{block}attn_norm.weight": ones(EMBEDDING),
            f"{block}attn_qkv.weight": weights.matrix((heads + 2 * kv_heads) * _HEAD, EMBEDDING),
            f"{block}attn_q_norm.weight": ones(_HEAD),
            f"{block}attn_k_norm.weight": ones(_HEAD),
            f"{block}attn_output.weight": weights.matrix(EMBEDDING, heads * _HEAD),
        }
    settings = {
        **_settings(3),
        "feed_forward_length": [_FEED_FORWARD] * 3,
        "attention.head_count": list(n_heads),
        "attention.head_count_kv": list(n_kv_heads),
        "attention.key_length": _HEAD,
        "attention.value_length": _HEAD,
        "rope.dimension_count": _HEAD,
    }
    return Network("openelm", settings, tensors)


def deepseek2(n_vocab: int, *, seed: int = 0) -> Network:
    """Latent attention (MLA) in two layers; the second has a shared expert and uses 2 of 4 others."""
    weights, tensors = _start(n_vocab, seed)
    n_heads, latent, rotated, expert = 2, 64, 32, 64
    for layer in range(2):
        block = f"blk.{layer}."
        tensors |= {
            f"{block}attn_norm.weight": ones(EMBEDDING),
            f"{block}attn_q_a_norm.weight": ones(32),
            f"{block}attn_kv_a_norm.weight": ones(latent),
            f"{block}attn_q_a.weight": weights.matrix(32, EMBEDDING),
            f"{block}attn_q_b.weight": weights.matrix(n_heads * (_HEAD + rotated), 32),
            f"{block}attn_kv_a_mqa.weight": weights.matrix(latent + rotated, EMBEDDING),
            f"{block}attn_k_b.weight": weights.stack(n_heads, latent, _HEAD),
            f"{block}attn_v_b.weight": weights.stack(n_heads, _HEAD, latent),
            f"{block}attn_output.weight": weights.matrix(EMBEDDING, n_heads * _HEAD),
        }
    tensors |= _feed_forward(weights, "blk.0.")
    tensors |= {
        "blk.1.ffn_norm.weight": ones(EMBEDDING),
        "blk.1.ffn_gate_inp.weight": weights.matrix32(4, EMBEDDING),
        "blk.1.ffn_down_exps.weight": weights.stack(4, EMBEDDING, expert),
        "blk.1.ffn_gate_exps.weight": weights.stack(4, expert, EMBEDDING),
        "blk.1.ffn_up_exps.weight": weights.stack(4, expert, EMBEDDING),
        "blk.1.ffn_gate_shexp.weight": weights.matrix(expert, EMBEDDING),
        "blk.1.ffn_down_shexp.weight": weights.matrix(EMBEDDING, expert),
        "blk.1.ffn_up_shexp.weight": weights.matrix(expert, EMBEDDING),
    }
    settings = {
        **_settings(2),
        "attention.head_count": n_heads,
        "attention.head_count_kv": 1,
        "attention.key_length": latent + rotated,
        "attention.value_length": latent,
        "attention.key_length_mla": _HEAD + rotated,
        "attention.value_length_mla": _HEAD,
        "attention.q_lora_rank": 32,
        "attention.kv_lora_rank": latent,
        "rope.dimension_count": rotated,
        "leading_dense_block_count": 1,
        "expert_count": 4,
        "expert_used_count": 2,
        "expert_shared_count": 1,
        "expert_feed_forward_length": expert,
        "expert_weights_scale": 1.0,
        "expert_weights_norm": True,
    }
    return Network("deepseek2", settings, tensors)


def jamba(n_vocab: int, *, seed: int = 0) -> Network:
    """A hybrid of three layers: a state, attention with 1 KV head under 2, a state."""
    weights, tensors = _start(n_vocab, seed)
    n_inner, n_state, n_conv, n_step = 2 * EMBEDDING, 16, 4, 4
    for layer, is_recurrent in enumerate((True, False, True)):
        block = f"blk.{layer}."
        tensors |= {f"{block}attn_norm.weight": ones(EMBEDDING)} | _feed_forward(weights, block)
        tensors |= (
            _attention(weights, block)
            if not is_recurrent
            else {
                f"{block}ssm_in.weight": weights.matrix(2 * n_inner, EMBEDDING),
                f"{block}ssm_conv1d.weight": weights.matrix32(n_inner, n_conv),
                f"{block}ssm_conv1d.bias": weights.vector(n_inner),
                f"{block}ssm_x.weight": weights.matrix(n_step + 2 * n_state, n_inner),
                f"{block}ssm_dt_norm.weight": ones(n_step),
                f"{block}ssm_b_norm.weight": ones(n_state),
                f"{block}ssm_c_norm.weight": ones(n_state),
                f"{block}ssm_dt.weight": weights.matrix32(n_inner, n_step),
                f"{block}ssm_dt.bias": weights.vector(n_inner),
                f"{block}ssm_a": -ones(n_inner, n_state),
                f"{block}ssm_d": ones(n_inner),
                f"{block}ssm_out.weight": weights.matrix(EMBEDDING, n_inner),
            }
        )
    settings = {
        **_settings(3),
        "attention.head_count": 2,
        "attention.head_count_kv": [0, 1, 0],
        "ssm.conv_kernel": n_conv,
        "ssm.inner_size": n_inner,
        "ssm.state_size": n_state,
        "ssm.time_step_rank": n_step,
    }
    return Network("jamba", settings, tensors)


def lfm2(n_vocab: int, *, seed: int = 0) -> Network:
    """A hybrid of two layers: a short convolution, and attention with 1 KV head under 2."""
    weights, tensors = _start(n_vocab, seed)
    tensors["token_embd_norm.weight"] = tensors.pop("output_norm.weight")
    for layer in range(2):
        block = f"blk.{layer}."
        tensors |= {f"{block}attn_norm.weight": ones(EMBEDDING)} | _feed_forward(weights, block)
    tensors |= {
        "blk.0.shortconv.conv.weight": weights.matrix32(EMBEDDING, 3),
        "blk.0.shortconv.in_proj.weight": weights.matrix(3 * EMBEDDING, EMBEDDING),
        "blk.0.shortconv.out_proj.weight": weights.matrix(EMBEDDING, EMBEDDING),
        "blk.1.attn_q_norm.weight": ones(_HEAD),
        "blk.1.attn_k_norm.weight": ones(_HEAD),
    }
    tensors |= _attention(weights, "blk.1.")
    settings = {
        **_settings(2),
        "attention.head_count": 2,
        "attention.head_count_kv": [0, 1],
        "rope.dimension_count": _HEAD,
        "shortconv.l_cache": 3,
    }
    return Network("lfm2", settings, tensors)


def _start(n_vocab: int, seed: int) -> tuple[Weights, dict[str, Tensor]]:
    weights = Weights(seed)
    embedding = weights.matrix(n_vocab, EMBEDDING)
    return weights, {"token_embd.weight": embedding, "output_norm.weight": ones(EMBEDDING)}


def _settings(n_layers: int) -> dict[str, int | float | list[int]]:
    return {
        "context_length": 2048,
        "embedding_length": EMBEDDING,
        "feed_forward_length": _FEED_FORWARD,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "block_count": n_layers,
    }


def _attention(weights: Weights, block: str) -> dict[str, Tensor]:
    return {
        f"{block}attn_q.weight": weights.matrix(2 * _HEAD, EMBEDDING),
        f"{block}attn_k.weight": weights.matrix(_HEAD, EMBEDDING),
        f"{block}attn_v.weight": weights.matrix(_HEAD, EMBEDDING),
        f"{block}attn_output.weight": weights.matrix(EMBEDDING, 2 * _HEAD),
    }


def _feed_forward(weights: Weights, block: str) -> dict[str, Tensor]:
    return {
        f"{block}ffn_norm.weight": ones(EMBEDDING),
        f"{block}ffn_gate.weight": weights.matrix(_FEED_FORWARD, EMBEDDING),
        f"{block}ffn_up.weight": weights.matrix(_FEED_FORWARD, EMBEDDING),
        f"{block}ffn_down.weight": weights.matrix(EMBEDDING, _FEED_FORWARD),
    }
