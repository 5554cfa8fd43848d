"""A split model is one model: its parts are found by their names, and the one that is missing is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import ModelFileError
from engine.models.gguf_header import read_header
from engine.models.model_parts import headers_of, part_paths
from tests import malformed_files as raw
from tests import model_files
from tests.generated_models import write_part


def test_model_in_one_file_has_one_header(starter_model: Path) -> None:
    assert headers_of(starter_model) == (read_header(starter_model),)


def test_headers_of_a_split_model_come_with_the_first_part_first(tmp_path: Path) -> None:
    parts = [write_part(tmp_path, n, n_parts=3, tensor=b"blk.%d.attn_norm.weight" % n) for n in (1, 2, 3)]
    headers = headers_of(parts[0])
    assert [header.path for header in headers] == parts == list(part_paths(headers[0]))
    assert [header.integer("split.no") for header in headers] == [0, 1, 2]


def test_missing_part_is_named(tmp_path: Path) -> None:
    first = model_files.write_first_split_part(tmp_path)
    named = (
        r"^split-00001-of-00002\.gguf is one of 2 parts .* its part split-00002-of-00002\.gguf is missing\."
    )
    with pytest.raises(ModelFileError, match=named):
        headers_of(first)


def test_missing_first_part_is_named(tmp_path: Path) -> None:
    second = write_part(tmp_path, 2, tensor=b"blk.1.attn_norm.weight")
    with pytest.raises(ModelFileError, match=r"^m-00002-of-.* its part m-00001-of-00002\.gguf is missing\."):
        headers_of(second)


def test_part_that_is_cut_short_is_named(tmp_path: Path) -> None:
    first = write_part(tmp_path, 1, tensor=b"blk.0.attn_norm.weight")
    second = write_part(tmp_path, 2, tensor=b"blk.1.attn_norm.weight")
    second.write_bytes(second.read_bytes()[:-40])
    with pytest.raises(ModelFileError, match=r"^m-00002-of-00002\.gguf is cut short"):
        headers_of(first)


def test_second_part_points_to_the_first(tmp_path: Path) -> None:
    write_part(tmp_path, 1)
    second = write_part(tmp_path, 2, tensor=b"blk.1.attn_norm.weight")
    with pytest.raises(ModelFileError, match=r"is part 2 .* Choose the first part, m-00001-of-00002\.gguf"):
        headers_of(second)


def test_renamed_part_asks_for_its_name_back(tmp_path: Path) -> None:
    renamed = write_part(tmp_path, 1).rename(tmp_path / "chat.gguf")
    with pytest.raises(ModelFileError, match=r"^chat\.gguf is part 1 .* ends in -00001-of-00002\.gguf"):
        headers_of(renamed)


def test_part_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    first = write_part(tmp_path, 1, n_parts=3)
    second = write_part(tmp_path, 2, n_parts=3)
    second.with_name("m-00003-of-00003.gguf").write_bytes(second.read_bytes())
    with pytest.raises(ModelFileError, match=r"^m-00003-of-00003\.gguf is not part 3 of m-00001-of-00003"):
        headers_of(first)


def test_false_count_of_parts_costs_nothing(tmp_path: Path) -> None:
    first = tmp_path / "m-00001-of-99999.gguf"
    first.write_bytes(raw.header(0, 1) + raw.uint32_entry(b"split.count", 99_999))
    with pytest.raises(ModelFileError, match=r"its part m-00002-of-99999\.gguf is missing"):
        headers_of(first)
