"""A model is brought into Weir's folder whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from app.data import model_import
from app.data.model_import import import_model
from engine.errors import KnownError
from engine.models.library_folders import FoundModel, find_models
from tests.generated_models import write_part


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "own"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "usb" / "m.gguf"
    path.parent.mkdir()
    path.write_bytes(os.urandom(10_000))
    return path


def _go_on(_done: int, _total: int) -> bool:
    return True


def _left(own: Path) -> list[str]:
    return sorted(path.relative_to(own).as_posix() for path in own.rglob("*") if path.is_file())


def test_a_copy_is_the_same_and_the_source_stays(own: Path, source: Path) -> None:
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> bool:
        told.append((done, total))
        return True

    new = import_model(source, own, moves=False, progress=tell)
    assert new == own / "imported" / "m.gguf"
    assert new.read_bytes() == source.read_bytes()
    assert told == [(10_000, 10_000)]
    assert _left(own) == ["imported/m.gguf"]


def test_equal_names_live_side_by_side(own: Path, source: Path) -> None:
    import_model(source, own, moves=False, progress=_go_on)
    assert import_model(source, own, moves=False, progress=_go_on) == own / "imported-2" / "m.gguf"


@pytest.mark.parametrize("moves", [True, False])
def test_a_split_model_comes_whole(tmp_path: Path, own: Path, moves: bool) -> None:
    (tmp_path / "usb").mkdir()
    parts = [write_part(tmp_path / "usb", number) for number in (1, 2)]
    new = import_model(parts[0], own, moves=moves, progress=_go_on)
    assert new == own / "imported" / parts[0].name
    assert _left(own) == [f"imported/{part.name}" for part in parts]
    assert [part.exists() for part in parts] == [not moves] * 2


def test_moving_to_another_disk_copies_first(
    own: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = source.read_bytes()
    monkeypatch.setattr(model_import, "_can_be_renamed", lambda _files, _folder: False)
    new = import_model(source, own, moves=True, progress=_go_on)
    assert new is not None
    assert new.read_bytes() == content
    assert not source.exists()


def test_nothing_has_the_final_name_before_it_is_whole(own: Path, source: Path) -> None:
    seen: list[list[FoundModel]] = []

    def look(_done: int, _total: int) -> bool:
        seen.append([found for found in find_models([own]) if isinstance(found, FoundModel)])
        return True

    import_model(source, own, moves=False, progress=look)
    assert seen == [[]]


@pytest.mark.parametrize("moves", [True, False])
def test_an_import_that_is_given_up_leaves_nothing(
    own: Path, source: Path, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    monkeypatch.setattr(model_import, "_can_be_renamed", lambda _files, _folder: False)
    assert import_model(source, own, moves=moves, progress=lambda _done, _total: False) is None
    assert _left(own) == []
    assert source.exists()


def test_too_little_room_is_told_before_anything_is_copied(
    own: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: _Usage(1, 1, 9_999))
    with pytest.raises(KnownError, match="GiB are free there"):
        import_model(source, own, moves=False, progress=_go_on)
    assert _left(own) == []


def test_a_disk_that_is_full_in_the_middle_leaves_nothing(
    own: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(KnownError, match="No space left"):
        import_model(source, own, moves=False, progress=_go_on)
    assert _left(own) == []
    assert source.exists()


def test_a_source_that_is_gone_is_told(own: Path, source: Path) -> None:
    with pytest.raises(KnownError, match="not there any more"):
        import_model(source.with_name("gone.gguf"), own, moves=False, progress=_go_on)


def test_what_a_killed_import_left_is_dropped_by_the_next_one(own: Path, source: Path) -> None:
    (own / "imported").mkdir(parents=True)
    old, new = own / "imported" / ".old.gguf.part", own / "imported" / ".new.gguf.part"
    old.touch()
    new.touch()
    os.utime(old, (1, 1))
    import_model(source, own, moves=False, progress=_go_on)
    assert _left(own) == ["imported/.new.gguf.part", "imported/m.gguf"]
