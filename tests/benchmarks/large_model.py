"""A model of half a gigabyte in Q4_K, made as quickly as a file of zeros; as wide as a 1 B model.

What the weights say does not change how long a token takes. Only the tokenizer is real.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np

from tests.model_files import TokenizerFields

_N_LAYERS, _N_EMBD, _N_FEED_FORWARD, _N_HEADS, _N_KV_HEADS, _HEAD_SIZE = 12, 2048, 8192, 32, 8, 64
_F32, _Q4_K, _Q6_K = (gguf.GGMLQuantizationType[name] for name in ("F32", "Q4_K", "Q6_K"))


def write_large_model(path: Path, tokenizer: TokenizerFields) -> Path:
    """12 layers as wide as those of a 1 B model; the output matrix is the embedding."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(8192)
    writer.add_embedding_length(_N_EMBD)
    writer.add_feed_forward_length(_N_FEED_FORWARD)
    writer.add_block_count(_N_LAYERS)
    writer.add_head_count(_N_HEADS)
    writer.add_head_count_kv(_N_KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_HEAD_SIZE)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_K_M)
    for field in tokenizer.fields:
        writer.add_key_value(field.key, field.value, field.value_type, sub_type=field.item_type)
    n_bytes = 0
    for name, shape, kind in _tensors(tokenizer.n_vocab):
        size = math.prod(gguf.quant_shape_to_byte_shape(shape, kind))
        writer.add_tensor_info(name, shape, np.dtype(np.float32), size, raw_dtype=kind)
        n_bytes += -(-size // writer.data_alignment) * writer.data_alignment
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    start = -(-path.stat().st_size // writer.data_alignment) * writer.data_alignment
    with path.open("r+b") as file:
        file.truncate(start + n_bytes)
    return path


def _tensors(n_vocab: int) -> Iterator[tuple[str, tuple[int, ...], gguf.GGMLQuantizationType]]:
    """Names, shapes with the slowest axis first, and types."""
    yield "token_embd.weight", (n_vocab, _N_EMBD), _Q6_K
    yield "output_norm.weight", (_N_EMBD,), _F32
    n_kv = _N_KV_HEADS * _HEAD_SIZE
    for layer in range(_N_LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", (_N_EMBD,), _F32
        for name, n_rows, n_columns in (
            ("attn_q", _N_EMBD, _N_EMBD),
            ("attn_k", n_kv, _N_EMBD),
            ("attn_v", n_kv, _N_EMBD),
            ("attn_output", _N_EMBD, _N_EMBD),
            ("ffn_gate", _N_FEED_FORWARD, _N_EMBD),
            ("ffn_up", _N_FEED_FORWARD, _N_EMBD),
            ("ffn_down", _N_EMBD, _N_FEED_FORWARD),
        ):
            yield f"blk.{layer}.{name}.weight", (n_rows, n_columns), _Q4_K
