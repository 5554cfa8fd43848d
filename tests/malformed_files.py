"""Files that are no model, or a damaged one: what downloads, disks and attackers leave in a folder.

Bytes are put together by hand, because no writer would agree to write them. Copies of the starter
model keep its header and its length, but their weights are a hole of zeros, so that a dozen of them
cost no space on the disk. What Weir should say about each file is known to the tests alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

# The GGUF types of metadata values that are written here.
UINT32, INT32, STRING, ARRAY = 4, 5, 8, 9

# The starter model's header ends before this byte; whatever lies behind it is weights.
STARTER_HEAD_BYTES = 2_000_000


def header(n_tensors: int, n_entries: int, *, version: int = 3, byte_order: str = "<") -> bytes:
    """The first 24 bytes of a GGUF file."""
    return b"GGUF" + struct.pack(f"{byte_order}IQQ", version, n_tensors, n_entries)


def text(content: bytes) -> bytes:
    """A length and that many bytes."""
    return struct.pack("<Q", len(content)) + content


def string_entry(key: bytes, value: bytes) -> bytes:
    """A metadata entry that holds text."""
    return text(key) + struct.pack("<I", STRING) + text(value)


def uint32_entry(key: bytes, value: int) -> bytes:
    """A metadata entry that holds a uint32."""
    return text(key) + struct.pack("<II", UINT32, value)


def array_entry(key: bytes, item_type: int, count: int, items: bytes = b"") -> bytes:
    """A metadata entry that claims `count` items, whatever `items` holds."""
    return text(key) + struct.pack("<IIQ", ARRAY, item_type, count) + items


def tensor_entry(name: bytes, shape: tuple[int, ...], *, ggml_type: int = 0, offset: int = 0) -> bytes:
    """What the header says about one tensor; type 0 is F32."""
    dimensions = struct.pack(f"<{len(shape)}Q", *shape)
    return text(name) + struct.pack("<I", len(shape)) + dimensions + struct.pack("<IQ", ggml_type, offset)


ARCHITECTURE = string_entry(b"general.architecture", b"llama")


def write_bad_files(starter: Path, folder: Path) -> dict[str, Path]:
    """Write all of them into `folder`; their paths by the file's name without `.gguf`."""
    paths = {}
    for name, content in _small_files():
        paths[name] = folder / f"{name}.gguf"
        paths[name].write_bytes(content)
    with starter.open("rb") as file:
        head = file.read(STARTER_HEAD_BYTES)
    for name, content, size in _starter_copies(head, starter.stat().st_size):
        paths[name] = folder / f"{name}.gguf"
        _write_with_hole(paths[name], content, size)
    return paths


def _write_with_hole(path: Path, content: bytes, size: int) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.truncate(size)


def _starter_copies(head: bytes, size: int) -> Iterator[tuple[str, bytes, int]]:
    yield "cut-half", head, size // 2
    yield "cut-last-4096", head, size - 4096
    yield "cut-1024", head[:1024], 1024
    yield "cut-24", head[:24], 24
    yield "cut-4", head[:4], 4
    # Whole by its length and its header: only its checksum, or its answers, give it away.
    yield "zeros-after-2-million", head, size
    for name, key, value in (
        ("blocks-513", b"llama.block_count", 513),
        ("blocks-100", b"llama.block_count", 100),
        ("blocks-0", b"llama.block_count", 0),
        ("context-huge", b"llama.context_length", 2**31 - 1),
        ("context-0", b"llama.context_length", 0),
        ("heads-0", b"llama.attention.head_count", 0),
        ("eos-out-of-range", b"tokenizer.ggml.eos_token_id", 2**32 - 1),
    ):
        yield name, _with_uint32(head, key, value), size


def _with_uint32(head: bytes, key: bytes, value: int) -> bytes:
    marker = text(key) + struct.pack("<I", UINT32)
    assert marker in head, key
    at = head.index(marker) + len(marker)
    return head[:at] + struct.pack("<I", value) + head[at + 4 :]


def _small_files() -> Iterator[tuple[str, bytes]]:
    yield from _not_gguf()
    yield from _broken_counts()
    yield from _broken_entries()
    yield from _broken_tensors()
    yield from _not_chat_models()


def _not_gguf() -> Iterator[tuple[str, bytes]]:
    yield "empty", b""
    yield "html", b"<!DOCTYPE html><html><body>Maintenance</body></html>" * 50
    yield "html-indented", b"\xef\xbb\xbf\n  <HTML lang=en><title>Sign in</title>"
    lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 98362432\n"
    yield "lfs-pointer", lfs
    yield "zeros", bytes(4096)
    yield "text", b"These are my notes about models.\n" * 20
    yield "version-0", header(0, 0, version=0)
    yield "version-1", header(0, 0, version=1)
    yield "version-99", header(0, 0, version=99)
    yield "big-endian", header(0, 0, byte_order=">")


def _broken_counts() -> Iterator[tuple[str, bytes]]:
    yield "tensors-2^63-1", header(2**63 - 1, 0)
    yield "tensors-2^40", header(2**40, 1) + ARCHITECTURE
    yield "entries-2^63-1", header(0, 2**63 - 1)
    yield "key-length-2^63-1", header(0, 1) + struct.pack("<Q", 2**63 - 1) + b"abc"
    long_text = text(b"general.architecture") + struct.pack("<IQ", STRING, 2**62)
    yield "text-length-2^62", header(0, 1) + long_text
    yield "array-2^63", header(0, 1) + array_entry(b"x.y", UINT32, 2**63)
    yield "array-2^40", header(0, 1) + array_entry(b"x.y", UINT32, 2**40)
    yield "array-text-2^40", header(0, 1) + array_entry(b"x.y", STRING, 2**40)
    long_item = struct.pack("<Q", 2**64 - 1) + bytes(64)
    yield "array-text-length-2^64-1", header(0, 1) + array_entry(b"x.y", STRING, 2, long_item)
    bomb = struct.pack("<IQ", ARRAY, 1) * 2000
    yield "arrays-nested-2000", header(0, 1) + array_entry(b"x.y", ARRAY, 1, bomb)


def _broken_entries() -> Iterator[tuple[str, bytes]]:
    yield "key-empty", header(0, 1) + uint32_entry(b"", 1)
    yield "key-not-utf8", header(0, 1) + uint32_entry(b"k\xff\xfe", 1)
    yield "key-twice", header(0, 2) + ARCHITECTURE * 2
    yield "value-type-77", header(0, 1) + text(b"k") + struct.pack("<II", 77, 1)
    yield "item-type-77", header(0, 1) + array_entry(b"k", 77, 1, bytes(8))
    for value in (0, 3, 2**31):
        yield f"alignment-{value}", header(0, 2) + ARCHITECTURE + uint32_entry(b"general.alignment", value)
    signed = text(b"general.alignment") + struct.pack("<Ii", INT32, 32)
    yield "alignment-int32", header(0, 2) + ARCHITECTURE + signed


def _broken_tensors() -> Iterator[tuple[str, bytes]]:
    one = header(1, 1) + ARCHITECTURE
    yield "dimensions-2^32-1", one + text(b"t") + struct.pack("<I", 2**32 - 1) + bytes(64)
    yield "dimension-0", one + tensor_entry(b"t", (4, 0)) + bytes(128)
    yield "shape-wraps", one + tensor_entry(b"t", (2**32, 2**32 + 1)) + bytes(128)
    yield "tensor-type-77", one + tensor_entry(b"t", (4,), ggml_type=77) + bytes(128)
    yield "tensor-type-removed", one + tensor_entry(b"t", (32,), ggml_type=4) + bytes(128)
    yield "row-not-in-blocks", one + tensor_entry(b"t", (33,), ggml_type=2) + bytes(128)
    yield "tensor-name-not-utf8", one + tensor_entry(b"t\xff", (4,)) + bytes(128)
    yield "tensor-name-long", one + tensor_entry(b"t" * 64, (4,)) + bytes(128)
    yield "tensor-offset-2^63", one + tensor_entry(b"t", (4,), offset=2**63) + bytes(128)
    twice = tensor_entry(b"t", (8,)) + tensor_entry(b"t", (8,), offset=32)
    yield "tensor-twice", header(2, 1) + ARCHITECTURE + twice + bytes(128)


def _not_chat_models() -> Iterator[tuple[str, bytes]]:
    def model(*entries: bytes, tensor: bytes = b"blk.0.attn_norm.weight") -> bytes:
        head = header(1, len(entries)) + b"".join(entries) + tensor_entry(tensor, (8,))
        return head + bytes(-len(head) % 32 + 32)

    def architecture(name: bytes) -> bytes:
        return string_entry(b"general.architecture", name)

    yield "mmproj-f16", header(0, 1) + architecture(b"clip")
    yield "projector-named-chat", model(architecture(b"clip"))
    yield "projector-by-type", model(ARCHITECTURE, string_entry(b"general.type", b"mmproj"))
    yield "lora-adapter", model(ARCHITECTURE, string_entry(b"general.type", b"adapter"))
    yield "importance-matrix", model(architecture(b"llama"), string_entry(b"general.type", b"imatrix"))
    yield "embedding-bert", model(architecture(b"nomic-bert"))
    yield "embedding-pooled", model(architecture(b"qwen3"), uint32_entry(b"qwen3.pooling_type", 3))
    yield "reranker", model(architecture(b"qwen3"), uint32_entry(b"qwen3.pooling_type", 4))
    yield "vocabulary-only", header(0, 1) + ARCHITECTURE
    yield "name-not-utf8", header(0, 2) + ARCHITECTURE + string_entry(b"general.name", b"\xff\xfe\x80name")
    yield "architecture-missing", model(string_entry(b"general.name", b"x"))
    yield "architecture-int", model(uint32_entry(b"general.architecture", 7))
    yield "architecture-not-utf8", model(architecture(b"\xff\xfe"))
    yield "architecture-unknown", model(architecture(b"nosucharch"))
