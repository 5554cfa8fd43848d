"""Bounds that hold whatever a file claims, and whatever happens to it while it is read."""

from __future__ import annotations

import io
import os
import random
import struct
from pathlib import Path

import pytest

from engine.errors import ModelFileError
from engine.models.byte_reader import (
    MAX_ARRAY_ITEMS,
    MAX_HEADER_BYTES,
    MAX_TEXT_BYTES,
    PIECE_BYTES,
    ByteReader,
    CutShort,
    shown,
)
from tests.malformed_files import text


def test_reading_goes_on_across_pieces(tmp_path: Path) -> None:
    path = tmp_path / "pieces"
    long_text = bytes(range(256)) * (PIECE_BYTES // 128)
    path.write_bytes(text(b"a" * (PIECE_BYTES - 12)) + text(long_text) + struct.pack("<I", 7))
    with path.open("rb") as file:
        reader = ByteReader(file, "pieces", path.stat().st_size)
        assert reader.text("first") == b"a" * (PIECE_BYTES - 12)
        assert reader.text("second") == long_text
        assert reader.unpack(struct.Struct("<I")) == (7,)
        assert reader.position == reader.size


def test_skipped_texts_end_exactly_behind_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "texts"
    lengths = [0, 3, PIECE_BYTES - 30, 1, 2 * PIECE_BYTES, 0, 5]
    path.write_bytes(b"".join(text(b"x" * length) for length in lengths) + b"behind")
    with path.open("rb") as file:
        reader = ByteReader(file, "texts", path.stat().st_size)
        reader.skip_texts(len(lengths))
        assert reader.peek(100) == b"behind"


@pytest.mark.parametrize("longest", [0, 12, 127, 128, 300])
def test_many_texts_of_all_lengths_are_passed_over_exactly(longest: int) -> None:
    lengths = random.Random(longest).choices(range(longest + 1), k=3 * PIECE_BYTES // (longest + 8))
    content = b"".join(struct.pack("<Q", length) + b"\0" * length for length in lengths)
    for count in (255, 256, 257, len(lengths) - 1, len(lengths)):
        reader = ByteReader(io.BytesIO(content), "texts", len(content))
        reader.skip_texts(count)
        assert reader.position == 8 * count + sum(lengths[:count])


def test_length_that_is_short_in_its_first_byte_alone_is_not_taken_for_a_short_text() -> None:
    content = text(b"abc") * 300 + struct.pack("<Q", 2**32 + 3) + text(b"abc") * 300
    with pytest.raises(ModelFileError, match="a text in an array claims 4,294,967,299 bytes"):
        ByteReader(io.BytesIO(content), "texts", len(content)).skip_texts(600)


def test_texts_beyond_the_first_bytes_of_a_file_are_told_by_how_many_bytes_they_need_at_least() -> None:
    content = text(b"abc") * 300
    with pytest.raises(CutShort) as caught:
        ByteReader(io.BytesIO(content), "texts", None).skip_texts(1000)
    assert caught.value.required_size == len(content) + 700 * 8


def test_header_longer_than_any_real_one_is_damaged_not_read(tmp_path: Path) -> None:
    path = tmp_path / "long"
    with path.open("wb") as file:
        file.truncate(2 * MAX_HEADER_BYTES)
    with path.open("rb") as file:
        reader = ByteReader(file, "long", path.stat().st_size)
        reader.skip(MAX_HEADER_BYTES)
        with pytest.raises(ModelFileError, match=r"long is damaged: its header claims 134,217,736 bytes"):
            reader.unpack(struct.Struct("<Q"))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_skipped_text_that_ends_behind_the_file_is_cut_short(tmp_path: Path, count: int) -> None:
    path = tmp_path / "texts"
    path.write_bytes(b"".join(text(b"abc") for _ in range(count))[:-1])
    with path.open("rb") as file, pytest.raises(ModelFileError, match="texts is cut short"):
        ByteReader(file, "texts", path.stat().st_size).skip_texts(count)


def test_all_texts_of_a_file_together_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "texts"
    half = text(b"x" * (MAX_TEXT_BYTES // 2))
    path.write_bytes(half + half + text(b"y"))
    with path.open("rb") as file:
        reader = ByteReader(file, "texts", path.stat().st_size)
        reader.text("first")
        reader.text("second")
        with pytest.raises(ModelFileError, match="texts is damaged: third claims 1 bytes"):
            reader.text("third")


def test_all_arrays_of_a_file_together_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "arrays"
    with path.open("wb") as file:
        file.truncate(2 * MAX_ARRAY_ITEMS)
    with path.open("rb") as file:
        reader = ByteReader(file, "arrays", path.stat().st_size)
        reader.count_items("first", MAX_ARRAY_ITEMS - 1, 1)
        with pytest.raises(ModelFileError, match="arrays is damaged: second claims 2 items"):
            reader.count_items("second", 2, 1)


def test_file_that_shrinks_while_it_is_read_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "shrinking"
    path.write_bytes(bytes(3 * PIECE_BYTES))
    with path.open("rb") as file:
        reader = ByteReader(file, "shrinking", path.stat().st_size)
        reader.skip(PIECE_BYTES)
        os.truncate(path, PIECE_BYTES)
        with pytest.raises(ModelFileError, match="shrinking is cut short"):
            reader.unpack(struct.Struct("<Q"))


def test_foreign_text_is_shortened_for_a_sentence() -> None:
    assert shown("x" * 5000) == "x" * 80 + "…"
    assert shown(b"\xff\nname") == "\ufffd\ufffdname"
