"""Where the text of an endurance run comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import BadRequest
from engine.measure.source_text import source_text


def test_pythons_reference_is_long_and_the_same_each_time() -> None:
    text = source_text(None, 50_000)
    assert len(text) > 400_000 and "def " in text
    assert source_text(None, 50_000) == text
    assert text.startswith(source_text(None, 100))


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xff\r\nx")
    assert source_text(str(tmp_path / "a.txt"), 10) == "caf\ufffd\nx"


def test_no_more_is_read_than_the_tokens_can_need(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 100_000)
    assert 30 <= len(source_text(str(tmp_path / "long.txt"), 30)) < 1000


@pytest.mark.parametrize("name", ["missing.txt", ".", "nul\0.txt"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRequest, match="cannot be read"):
        source_text(str(tmp_path / name), 10)
