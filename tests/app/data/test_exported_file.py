"""Names and files of exports."""

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.data.exported_file import file_name_for, write_text_atomically
from engine.errors import KnownError


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("What is a weir?", "What is a weir.md"),
        ('a/b\\c: <d> | "e" *', "a b c d e.md"),
        ("..", "chat.md"),
        ("", "chat.md"),
        (" .hidden. ", "hidden.md"),
        ("con", "chat con.md"),
        ("Nul.txt", "chat Nul.txt.md"),
        ("COM¹", "chat COM¹.md"),
        ("com10", "com10.md"),
        ("line\none\0two", "line one two.md"),
        ("photo\u202egpj.exe", "photo gpj.exe.md"),
        ("ok \ud83d", "ok \ufffd.md"),
        ("воды 👨‍👩‍👧‍👦", "воды 👨‍👩‍👧‍👦.md"),
        ("x" * 300, "x" * 72 + ".md"),
    ],
)
def test_a_title_becomes_a_name_that_every_system_accepts(title: str, name: str) -> None:
    assert file_name_for(title, ".md") == name


@given(title=st.text(st.characters()))
def test_any_title_becomes_a_safe_name(title: str) -> None:
    name = file_name_for(title, ".json")
    assert name.endswith(".json")
    assert name == name.strip(" .")
    assert len(name) <= 80
    assert len(name.encode("utf-8")) <= 255
    assert not set(name) & set('<>:"/\\|?*')
    assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in name)


def test_a_long_name_of_emoji_is_not_cut_inside_one() -> None:
    family = "👨‍👩‍👧‍👦"
    name = file_name_for(family * 30, ".md").removesuffix(".md")
    assert name == family * (len(name) // len(family))
    assert name


def test_text_is_written_as_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("former")
    write_text_atomically(path, "ok \ud83d\0\r\nü\n")
    assert path.read_bytes() == "ok \ufffd\0\r\nü\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.md", tmp_path / "link.md"
    target.write_text("former")
    link.symlink_to(target)
    write_text_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_write_that_fails_leaves_the_former_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.md"
    path.write_text("former")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(KnownError, match=r"a.md could not be written \(No space left on device\)"):
            write_text_atomically(path, "new")
    assert path.read_text() == "former"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["", "no such folder/a.md", "a\0b.md"])
def test_a_place_that_cannot_be_written_is_explained(tmp_path: Path, place: str) -> None:
    with pytest.raises(KnownError, match="could not be written"):
        write_text_atomically(tmp_path / place, "text")
    assert list(tmp_path.iterdir()) == []
