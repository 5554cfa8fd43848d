"""The first bytes of a remote file: a header as from the disk, or how many more bytes are needed."""

from __future__ import annotations

import dataclasses
import itertools
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ModelFileError
from engine.models.byte_reader import MAX_HEADER_BYTES
from engine.models.gguf_header import GGUFHeader, read_header
from engine.models.header_prefix import FIRST_BYTES, NeedMore, read_header_prefix
from tests import generated_models
from tests import malformed_files as raw
from tests.engine.models.test_gguf_fuzz import HEAD, WHOLE


def _fetch(content: bytes, file_size: int | None, start: int = 0) -> tuple[GGUFHeader, list[int]]:
    """The header, and how many bytes of `content` were there at each round."""
    rounds = [start]
    while isinstance(answer := read_header_prefix(content[: rounds[-1]], "org/m.gguf", file_size), NeedMore):
        assert answer.n_bytes > 0
        assert rounds[-1] + answer.n_bytes <= min(file_size or MAX_HEADER_BYTES, MAX_HEADER_BYTES)
        rounds.append(rounds[-1] + answer.n_bytes)
    return answer, rounds


@pytest.mark.parametrize("told", [True, False])
def test_header_of_a_prefix_equals_that_of_the_file(starter_model: Path, told: bool) -> None:
    expected = read_header(starter_model)
    with starter_model.open("rb") as file:
        content = file.read(4 * 2**20)
    size = expected.file_size if told else None
    header, _ = _fetch(content, size)
    assert header == dataclasses.replace(expected, path=Path("org/m.gguf"), file_size=size)


def test_the_largest_vocabulary_takes_few_rounds(tmp_path: Path) -> None:
    path = generated_models.write_model(
        tmp_path / "m.gguf",
        n_tokens=generated_models.LARGEST_N_TOKENS,
        n_merges=generated_models.LARGEST_N_MERGES,
    )
    with path.open("rb") as file:
        content = file.read(32 * 2**20)
    _, rounds = _fetch(content, path.stat().st_size, FIRST_BYTES)
    assert len(rounds) <= 6
    assert rounds[-1] <= 32 * 2**20
    assert all(more >= 2 * before for before, more in itertools.pairwise(rounds))


@pytest.mark.parametrize("file_size", [None, len(WHOLE)])
def test_every_prefix_gives_the_header_or_asks_for_more(file_size: int | None) -> None:
    for length in range(len(WHOLE)):
        answer = read_header_prefix(WHOLE[:length], "m.gguf", file_size)
        assert isinstance(answer, GGUFHeader) == (length >= len(HEAD)), length
        if isinstance(answer, NeedMore) and file_size:
            assert 0 < answer.n_bytes <= file_size - length


def test_file_that_ends_inside_its_header_is_refused_by_its_size() -> None:
    for length in range(1, len(HEAD)):
        with pytest.raises(ModelFileError, match=r"^m\.gguf is cut short"):
            read_header_prefix(HEAD[:length], "m.gguf", length)


def test_file_too_short_for_its_tensors_is_refused_by_its_size() -> None:
    with pytest.raises(ModelFileError, match=r"is cut short: it has 735 bytes and should have 736"):
        read_header_prefix(WHOLE, "m.gguf", len(WHOLE) - 1)


@pytest.mark.parametrize(("data", "cause"), [(b"", "is empty"), (b"<!DOCTYPE html>", "is a web page")])
def test_what_is_no_model_is_refused_as_from_the_disk(data: bytes, cause: str) -> None:
    with pytest.raises(ModelFileError, match=rf"^m\.gguf {cause}"):
        read_header_prefix(data, "m.gguf", len(data))


def test_no_claim_asks_for_more_than_any_header_has() -> None:
    for count in (2**20, 2**23):
        for item_type in (raw.UINT32, raw.STRING):
            data = raw.header(0, 2) + raw.array_entry(b"a", item_type, count)
            answer = read_header_prefix(data, "m.gguf", None)
            assert isinstance(answer, NeedMore)
            assert FIRST_BYTES <= answer.n_bytes + len(data) <= MAX_HEADER_BYTES


@settings(max_examples=300)
@given(noise=st.binary(max_size=200), file_size=st.none() | st.integers(0, 2**40))
def test_noise_never_escapes_as_another_error(noise: bytes, file_size: int | None) -> None:
    for data in (noise, b"GGUF\x03\0\0\0" + noise):
        try:
            answer = read_header_prefix(data, "m.gguf", file_size)
        except ModelFileError:
            continue
        if isinstance(answer, NeedMore):
            assert 0 < answer.n_bytes <= MAX_HEADER_BYTES


def test_a_prefix_of_16_megabytes_is_not_copied(tmp_path: Path) -> None:
    items = raw.text(b"abcdefgh") * 2**20
    data = raw.header(0, 1) + raw.array_entry(b"a", raw.STRING, 2**20, items)
    read_header_prefix(data, "m.gguf", None)
    tracemalloc.start()
    try:
        read_header_prefix(data, "m.gguf", None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5e6
