"""Every model file below the folders is found once, whatever links and locks lie in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.models import library_folders
from engine.models.library_folders import (
    MAX_DEPTH,
    FoundModel,
    SkippedFolder,
    files_of,
    find_models,
    model_at,
)
from tests.generated_models import write_part


def _paths(*folders: Path) -> list[Path]:
    return [found.path for found in find_models(folders) if isinstance(found, FoundModel)]


def _skipped(*folders: Path) -> list[SkippedFolder]:
    return [found for found in find_models(folders) if isinstance(found, SkippedFolder)]


def _touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_models_of_all_folders_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    names = ("a/b.gguf", "a/x/a.gguf", "a/y/c.GGUF", "b/a.gguf")
    paths = [_touch(tmp_path / name) for name in names]
    for other in ("a/notes.txt", "a/model.gguf.part", "a/gguf"):
        _touch(tmp_path / other)
    assert _paths(tmp_path) == paths
    assert _paths(tmp_path / "b", tmp_path / "a") == [paths[3], *paths[:3]]


def test_equal_names_in_two_folders_are_two_models(tmp_path: Path) -> None:
    paths = [_touch(tmp_path / owner / "model.gguf") for owner in ("org-a", "org-b")]
    assert _paths(tmp_path) == paths


def test_size_and_time_are_the_files(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"12345")
    os.utime(path, ns=(1, 1_700_000_000_123_456_789))
    (found,) = find_models([tmp_path])
    assert isinstance(found, FoundModel)
    assert found.size == 5
    assert found.mtime_ns == path.stat().st_mtime_ns


def test_parts_of_a_split_model_are_one_model_with_their_size_together(tmp_path: Path) -> None:
    parts = [write_part(tmp_path, number, n_parts=3) for number in (3, 1, 2)]
    os.utime(parts[0], ns=(1, 2_000_000_000_000_000_000))
    (found,) = find_models([tmp_path])
    size = sum(part.stat().st_size for part in parts)
    assert found == FoundModel(parts[1], size, parts[0].stat().st_mtime_ns)


def test_split_model_without_its_first_part_is_found_by_its_lowest(tmp_path: Path) -> None:
    write_part(tmp_path, 3, n_parts=3)
    second = write_part(tmp_path, 2, n_parts=3)
    assert _paths(tmp_path) == [second]


def test_folder_that_was_given_twice_or_lies_in_another_is_searched_once(tmp_path: Path) -> None:
    path = _touch(tmp_path / "a" / "m.gguf")
    assert _paths(tmp_path, tmp_path, tmp_path / "a") == [path]


def test_links_that_lead_in_circles_are_survived(tmp_path: Path) -> None:
    path = _touch(tmp_path / "a" / "m.gguf")
    (tmp_path / "a" / "back").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a" / "self").symlink_to("self")
    (tmp_path / "a" / "self.gguf").symlink_to("self.gguf")
    assert list(find_models([tmp_path])) == [
        FoundModel(path, 0, path.stat().st_mtime_ns),
        FoundModel(tmp_path / "a" / "self.gguf", 0, 0),
    ]


def test_linked_file_has_the_size_of_what_it_leads_to(tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(b"123")
    (tmp_path / "m.gguf").symlink_to(blob)
    assert list(find_models([tmp_path])) == [FoundModel(tmp_path / "m.gguf", 3, blob.stat().st_mtime_ns)]


def test_link_that_leads_nowhere_is_found_without_a_time(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").symlink_to(tmp_path / "gone")
    assert list(find_models([tmp_path])) == [FoundModel(tmp_path / "m.gguf", 0, 0)]


def test_folder_named_like_a_model_is_searched(tmp_path: Path) -> None:
    path = _touch(tmp_path / "m.gguf" / "m.gguf")
    assert _paths(tmp_path) == [path]


def test_folders_that_cannot_be_searched_are_named_and_the_search_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _touch(tmp_path / "z" / "m.gguf")
    locked = _touch(tmp_path / "locked" / "m.gguf").parent
    scandir = os.scandir

    def refuse(folder: Path) -> object:
        if folder == locked:
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    gone = tmp_path / "gone"
    found = list(find_models([gone, Path("a\0b"), tmp_path]))
    assert [place.path for place in found] == [gone, Path("a\0b"), locked, path]
    reasons = [place.reason for place in found if isinstance(place, SkippedFolder)]
    assert reasons[0] == "gone cannot be searched (No such file or directory)."
    assert reasons[1].startswith("a\ufffdb cannot be searched (")
    assert reasons[2] == "locked cannot be searched (Permission denied)."


def test_depth_is_bounded_and_said(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*"abcdefgh")
    assert MAX_DEPTH == 8
    path = _touch(folder / "m.gguf")
    assert list(find_models([tmp_path])) == [FoundModel(path, 0, path.stat().st_mtime_ns)]
    _touch(folder / "i" / "m.gguf")
    assert _paths(tmp_path) == [path]
    (skipped,) = _skipped(tmp_path)
    assert skipped == SkippedFolder(folder, "h lies 8 folders deep: what is below it was not searched.")


def test_number_of_folders_is_bounded_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_folders, "MAX_FOLDERS", 10)
    for number in range(9):
        _touch(tmp_path / "few" / str(number) / "m.gguf")
    assert len(_paths(tmp_path / "few")) == 9
    for number in range(20):
        _touch(tmp_path / "many" / str(number) / "m.gguf")
    (skipped,) = _skipped(tmp_path / "many")
    assert skipped.reason == "many and others hold over 10 folders: choose a smaller one."


def test_a_file_that_several_links_lead_to_is_one_model(tmp_path: Path) -> None:
    blob = _touch(tmp_path / "blobs" / "abc")
    for revision in ("one", "two"):
        link = tmp_path / "snapshots" / revision / "m.gguf"
        link.parent.mkdir(parents=True)
        link.symlink_to(blob)
    assert _paths(tmp_path) == [tmp_path / "snapshots" / "one" / "m.gguf"]


def test_a_cache_without_links_lists_each_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "symlink", lambda *_: (_ for _ in ()).throw(OSError("not here")))
    paths = [_touch(tmp_path / "snapshots" / name / "m.gguf") for name in ("one", "two")]
    assert _paths(tmp_path) == paths


def test_what_is_being_downloaded_is_not_listed(tmp_path: Path) -> None:
    _touch(tmp_path / ".downloads" / "m.gguf")
    path = _touch(tmp_path / "org" / "m.gguf")
    assert _paths(tmp_path) == [path]


def test_the_files_of_a_split_model_are_its_own_parts_alone(tmp_path: Path) -> None:
    parts = tuple(write_part(tmp_path, number, n_parts=3) for number in (1, 3))
    write_part(tmp_path, 1, n_parts=2)
    write_part(tmp_path, 1, n_parts=3, name="other")
    single = _touch(tmp_path / "single.gguf")
    assert files_of(parts[0]) == parts
    assert files_of(single) == (single,)
    assert files_of(tmp_path / "gone.gguf") == ()
    assert model_at(parts[1]).path == parts[0]
    assert model_at(tmp_path / "gone" / "m.gguf") == FoundModel(tmp_path / "gone" / "m.gguf", 0, 0)
