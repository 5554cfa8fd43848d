from __future__ import annotations

from pathlib import Path

import pytest

from engine.memory import system_file


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8\n", {0, 1, 2, 3, 8}),
        ("5", {5}),
        ("", set()),
        ("0-99999999999", set()),
        ("3-1,x,-2,²", set()),
    ],
)
def test_lists_of_cpus(tmp_path: Path, text: str, cpus: set[int]) -> None:
    (tmp_path / "list").write_text(text, "utf-8")
    assert system_file.read_cpu_list(tmp_path / "list") == cpus


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"1" * (2**20 + 1))
    assert system_file.read_text(tmp_path / "large") is None


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\0"])
def test_broken_json_is_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "broken.json").write_text(text, "utf-8")
    assert system_file.read_json(tmp_path / "broken.json") is None
    assert system_file.read_json(tmp_path / "missing.json") is None


def test_json_is_replaced_whole_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    system_file.write_json(path, {"a": 1})
    system_file.write_json(path, {"a": 2})
    assert system_file.read_json(path) == {"a": 2}
    assert list(tmp_path.iterdir()) == [path]


def test_json_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    system_file.write_json(tmp_path / "missing" / "kept.json", 1)
    assert list(tmp_path.iterdir()) == []
