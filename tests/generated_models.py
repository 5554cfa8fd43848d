"""Model files with real headers and no weights: of a real model's size, and as parts of a split model.

Vocabularies have the lengths of real ones (tokens of 6 bytes on average, merges of 9, a few of a
hundred). The weights are a hole in the file, so that hundreds of them cost megabytes on the disk. Nothing
here uses Weir's own reader.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator
from pathlib import Path

from tests import malformed_files as raw

FLOAT32, F16 = 6, 1
N_LAYERS, N_EMBD = 30, 576
LARGEST_N_TOKENS, LARGEST_N_MERGES = 262_144, 514_906  # 777,050 texts together


def write_model(
    path: Path, *, n_tokens: int = 49_152, n_merges: int = 48_900, name: str = "Generated"
) -> Path:
    """Write a chat model of 30 layers with such a vocabulary, and call it `name`."""
    entries = [
        raw.ARCHITECTURE,
        raw.string_entry(b"general.name", name.encode()),
        raw.uint32_entry(b"llama.block_count", N_LAYERS),
        raw.uint32_entry(b"llama.context_length", 8192),
        raw.uint32_entry(b"llama.embedding_length", N_EMBD),
        raw.uint32_entry(b"llama.attention.head_count", 9),
        raw.uint32_entry(b"llama.attention.head_count_kv", 3),
        *_tokenizer(n_tokens, n_merges),
    ]
    tensors, n_bytes = _tensors(n_tokens)
    head = raw.header(len(tensors), len(entries)) + b"".join(entries) + b"".join(tensors)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + -len(head) % 32 + n_bytes)
    return path


def write_part(folder: Path, number: int, *, n_parts: int = 2, tensor: bytes = b"", name: str = "m") -> Path:
    """Part `number` as llama-gguf-split writes it: only the first one names the architecture."""
    entries = [raw.uint32_entry(b"split.no", number - 1), raw.uint32_entry(b"split.count", n_parts)]
    if number == 1:
        entries += [
            raw.ARCHITECTURE,
            raw.uint32_entry(b"llama.block_count", 2),
            raw.uint32_entry(b"llama.attention.head_count", 2),
        ]
    head = raw.header(bool(tensor), len(entries)) + b"".join(entries)
    if tensor:
        head += raw.tensor_entry(tensor, (8,))
    path = folder / f"{name}-{number:05d}-of-{n_parts:05d}.gguf"
    path.write_bytes(head + bytes(-len(head) % 32 + 32))
    return path


@functools.cache
def _tokenizer(n_tokens: int, n_merges: int) -> tuple[bytes, ...]:
    return (
        raw.string_entry(b"tokenizer.ggml.model", b"gpt2"),
        raw.array_entry(b"tokenizer.ggml.tokens", raw.STRING, n_tokens, _texts(n_tokens, 6)),
        raw.array_entry(b"tokenizer.ggml.scores", FLOAT32, n_tokens, bytes(4 * n_tokens)),
        raw.array_entry(b"tokenizer.ggml.token_type", raw.INT32, n_tokens, bytes(4 * n_tokens)),
        raw.array_entry(b"tokenizer.ggml.merges", raw.STRING, n_merges, _texts(n_merges, 9)),
        raw.uint32_entry(b"tokenizer.ggml.eos_token_id", 2),
        raw.string_entry(b"tokenizer.chat_template", b"{{ messages }}"),
    )


def _texts(count: int, mean: int) -> bytes:
    lengths = random.Random(count)
    return b"".join(
        raw.text(b"t" * max(1, min(150, int(lengths.lognormvariate(0, 0.6) * mean)))) for _ in range(count)
    )


def _tensors(n_tokens: int) -> tuple[list[bytes], int]:
    """The tensor list and the length of the weights in bytes."""
    offsets = itertools.accumulate((2 * rows * N_EMBD for _, rows in _shapes(n_tokens)), initial=0)
    listed = [
        raw.tensor_entry(name, (N_EMBD, rows), ggml_type=F16, offset=offset)
        for (name, rows), offset in zip(_shapes(n_tokens), offsets, strict=False)
    ]
    return listed, sum(2 * rows * N_EMBD for _, rows in _shapes(n_tokens))


def _shapes(n_tokens: int) -> Iterator[tuple[bytes, int]]:
    yield b"token_embd.weight", n_tokens
    for layer in range(N_LAYERS):
        for part, rows in ((b"attn_q", 576), (b"attn_k", 192), (b"attn_v", 192), (b"attn_output", 576)):
            yield b"blk.%d.%b.weight" % (layer, part), rows
        for part, rows in ((b"ffn_up", 1536), (b"ffn_gate", 1536), (b"ffn_down", 1536), (b"attn_norm", 1)):
            yield b"blk.%d.%b.weight" % (layer, part), rows
    yield b"output_norm.weight", 1
