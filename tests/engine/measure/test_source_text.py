"""Where the text of an endurance run comes from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.errors import BadRequest
from engine.measure.source_text import source_text


def test_pythons_reference_is_long_and_the_same_each_time() -> None:
    text = source_text(None, 50_000)
    assert len(text) > 400_000 and "def " in text
    assert source_text(None, 50_000) == text
    assert text.startswith(source_text(None, 100))


def test_no_more_is_read_than_the_tokens_can_need(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 100_000)
    assert 30 <= len(source_text(str(tmp_path / "long.txt"), 30)) < 1000


@pytest.mark.parametrize("name", ["missing.txt", "nul\0.txt"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRequest, match="cannot be read"):
        source_text(str(tmp_path / name), 10)


@pytest.mark.parametrize(
    "content",
    [b"GGUF\x03\0\0\0", "The river runs on.".encode("utf-16"), b"caf\xe9 ", b"\xff\xd8\xff\xe0", b"a\0b"],
)
def test_a_file_that_is_not_text_in_utf_8_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text"
    path.write_bytes(content * 10)
    with pytest.raises(BadRequest, match="not text in UTF-8"):
        source_text(str(path), 1000)


def test_a_text_may_begin_with_a_byte_order_mark_and_is_cut_between_characters(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("\ufeff" + "äö€" * 100, encoding="utf-8")
    assert source_text(str(path), 1) == ("äö€" * 6)[:16]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
def test_a_device_and_a_pipe_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(BadRequest, match="no ordinary file"):
            source_text(str(path), 10_000_000)
