"""Random damage to a small header: the reader answers with a header or a ModelFileError, nothing else."""

from __future__ import annotations

import dataclasses
import os
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import ModelFileError
from engine.models.gguf_header import GGUFHeader, read_header
from engine.models.header_prefix import NeedMore, read_header_prefix
from engine.models.model_file import check_chat_model
from tests import malformed_files as raw

HEAD = (
    raw.header(2, 7)
    + raw.ARCHITECTURE
    + raw.uint32_entry(b"llama.block_count", 1)
    + raw.uint32_entry(b"split.count", 1)
    + raw.uint32_entry(b"general.alignment", 32)
    + raw.array_entry(
        b"tokenizer.ggml.tokens", raw.STRING, 3, raw.text(b"a") + raw.text(b"") + raw.text(b"bc")
    )
    + raw.array_entry(b"tokenizer.ggml.token_type", raw.INT32, 3, bytes(12))
    + raw.string_entry(b"tokenizer.chat_template", b"{{ messages }}")
    + raw.tensor_entry(b"token_embd.weight", (32, 3), ggml_type=8)
    + raw.tensor_entry(b"blk.0.attn_norm.weight", (32,), offset=128)
)
WHOLE = HEAD + bytes(-len(HEAD) % 32) + bytes(256)

NUMBERS = [0, 1, 2, 3, 8, 9, 255, 2**16, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
BYTE_CHANGES = st.tuples(st.integers(0, len(HEAD) - 1), st.integers(0, 255).map(lambda byte: bytes([byte])))
NUMBER_CHANGES = st.tuples(
    st.integers(0, len(HEAD) - 8), st.sampled_from([struct.pack("<Q", number) for number in NUMBERS])
)
FUZZ = settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _read(folder: Path, content: bytes) -> GGUFHeader | None:
    path = folder / "fuzz-00001-of-00002.gguf"
    path.write_bytes(content)
    try:
        header = read_header(path)
        check_chat_model(header)
    except ModelFileError as error:
        assert str(error).startswith("fuzz-00001-of-00002.gguf ")
        return None
    return header


def test_the_undamaged_header_is_accepted(tmp_path: Path) -> None:
    header = _read(tmp_path, WHOLE)
    assert header is not None
    assert [tensor.n_bytes for tensor in header.tensors] == [102, 128]


@FUZZ
@given(changes=st.lists(BYTE_CHANGES | NUMBER_CHANGES, min_size=1, max_size=4))
def test_changed_bytes_never_escape_as_another_error(
    tmp_path: Path, changes: list[tuple[int, bytes]]
) -> None:
    content = bytearray(WHOLE)
    for at, changed in changes:
        content[at : at + len(changed)] = changed
    header = _read(tmp_path, bytes(content))
    if header is not None:
        assert header.required_size <= len(WHOLE)
        assert header.file_size == len(WHOLE)


@FUZZ
@given(
    changes=st.lists(BYTE_CHANGES | NUMBER_CHANGES, min_size=1, max_size=4), cut=st.integers(0, len(WHOLE))
)
def test_first_bytes_and_the_file_are_judged_alike(
    tmp_path: Path, changes: list[tuple[int, bytes]], cut: int
) -> None:
    content = bytearray(WHOLE)
    for at, changed in changes:
        content[at : at + len(changed)] = changed
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    answer = _outcome(lambda: read_header_prefix(bytes(content[:cut]), "m.gguf", len(content)))
    if not isinstance(answer, NeedMore):
        expected = _outcome(lambda: read_header(path))
        if isinstance(expected, GGUFHeader):
            expected = dataclasses.replace(expected, path=Path("m.gguf"))
        # Of a file that begins with neither, fewer bytes may tell less about what it is.
        assert answer == expected or (cut < 512 and not content.startswith(b"GGUF"))


def _outcome(read: Callable[[], GGUFHeader | NeedMore]) -> GGUFHeader | NeedMore | str:
    try:
        return read()
    except ModelFileError as error:
        return str(error)


@FUZZ
@given(noise=st.binary(max_size=400))
def test_random_bytes_never_escape_as_another_error(tmp_path: Path, noise: bytes) -> None:
    _read(tmp_path, noise)


@FUZZ
@given(changes=st.lists(NUMBER_CHANGES, min_size=1, max_size=8))
def test_no_change_takes_much_memory_or_time(tmp_path: Path, changes: list[tuple[int, bytes]]) -> None:
    content = bytearray(WHOLE)
    for at, changed in changes:
        content[at : at + len(changed)] = changed
    path = tmp_path / "fuzz.gguf"
    path.write_bytes(content)
    os.truncate(path, 2**34)  # a hole of 16 GB: whatever is claimed may well be there
    tracemalloc.start()
    start = time.process_time()
    try:
        _outcome(lambda: read_header(path))
        seconds = time.process_time() - start
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40e6
    assert seconds < 5


@FUZZ
@given(noise=st.binary(max_size=200))
def test_noise_behind_the_magic_never_escapes_as_another_error(tmp_path: Path, noise: bytes) -> None:
    _read(tmp_path, b"GGUF\x03\0\0\0" + noise)


def test_every_cut_is_told_from_damage(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(WHOLE)
    # Backwards, so that each length is one cut more; the last tensor ends with the file.
    for length in range(len(WHOLE) - 1, 0, -1):
        os.truncate(path, length)
        with pytest.raises(ModelFileError, match=r"^cut\.gguf is cut short"):
            read_header(path)
