"""Deleting a model takes all its files, or says which one is left."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from app.data.model_deletion import NoTrash, delete_for_ever, move_to_trash
from engine.download.origin import Origin, read_origins, record_origins
from engine.errors import KnownError
from tests.generated_models import write_part


@pytest.fixture
def trash(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that went to the trash, in order."""
    names: list[str] = []

    def move(path: Path) -> None:
        names.append(path.name)
        path.unlink()

    monkeypatch.setattr("send2trash.send2trash", move)
    return names


def test_a_split_model_goes_whole_and_its_first_part_last(tmp_path: Path, trash: list[str]) -> None:
    parts = [write_part(tmp_path, number, n_parts=3) for number in (1, 2, 3)]
    other = write_part(tmp_path, 1, n_parts=2)
    move_to_trash(parts[0])
    assert trash == [part.name for part in reversed(parts)]
    assert list(tmp_path.iterdir()) == [other]


def test_a_file_without_a_trash_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.gguf"
    path.touch()

    def refuse(_path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("send2trash.send2trash", refuse)
    with pytest.raises(NoTrash, match=r"m\.gguf could not be moved to a trash \(Permission denied\)"):
        move_to_trash(path)
    assert path.exists()


def test_deleting_for_ever_takes_all_parts(tmp_path: Path) -> None:
    parts = [write_part(tmp_path, number) for number in (1, 2)]
    delete_for_ever(parts[0])
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_deleted_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [write_part(tmp_path, number) for number in (1, 2)]

    def refuse(_path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "in use")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        with pytest.raises(KnownError, match=r"m-00002-of-00002\.gguf could not be deleted \(in use\)"):
            delete_for_ever(parts[0])
    assert all(part.exists() for part in parts)


def _download(top: Path, *names: str) -> list[Path]:
    repository = top / "org" / "x"
    paths = [repository / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    record_origins(repository, {name: Origin("org/x", "abc", None, 0, 1) for name in names})
    return paths


def test_a_downloads_record_and_its_empty_folders_go_with_it(tmp_path: Path, trash: list[str]) -> None:
    first, second = _download(tmp_path, "a.gguf", "sub/b.gguf")
    move_to_trash(second)
    assert set(read_origins(first.parent)) == {"a.gguf"}
    assert not second.parent.exists()
    delete_for_ever(first)
    assert not (tmp_path / "org").exists()
    assert tmp_path.exists()


def test_a_downloads_folder_with_something_else_in_it_stays(tmp_path: Path) -> None:
    (path,) = _download(tmp_path, "a.gguf")
    notes = path.with_name("notes.txt")
    notes.touch()
    delete_for_ever(path)
    assert list(notes.parent.iterdir()) == [notes]


def test_a_folder_that_was_moved_elsewhere_is_left_as_it_is(tmp_path: Path) -> None:
    (path,) = _download(tmp_path, "a.gguf")
    moved = path.parent.rename(tmp_path / "mine")
    delete_for_ever(moved / "a.gguf")
    assert moved.exists()
    assert not (tmp_path / ".downloads").exists()
