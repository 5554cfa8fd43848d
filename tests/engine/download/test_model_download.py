"""Models of several parts, their place, and where they came from."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.download import placing
from engine.download.download_errors import (
    AlreadyDownloading,
    DownloadStopped,
    NameTaken,
    PartsMissing,
    UnsafeName,
)
from engine.download.job import locked_job
from engine.download.model_download import discard_download, kept_bytes
from engine.download.origin import Origin, origin_of
from engine.hub.hub_values import RemoteModel
from engine.models.library_folders import find_models
from tests.engine.download.downloads import Watched, content, keep, offer
from tests.fake_hub.content import COMMIT
from tests.fake_hub.server import FakeHub

PARTS = {f"sub/big-{number:05d}-of-00003.gguf": 100_000 * number for number in (1, 2, 3)}


@pytest.fixture
def split(hub: FakeHub) -> RemoteModel:
    return offer(hub, dict(PARTS))


def _assert_whole(watched: Watched, model: RemoteModel) -> None:
    for number, part in enumerate(model.parts):
        path = watched.folder / model.repo_id / part.path
        assert path.read_bytes() == content(watched.hub, model, number)


def test_all_parts_and_nothing_else(hub: FakeHub, watched: Watched, split: RemoteModel) -> None:
    first = watched.run(split)
    assert first == watched.folder / "org" / "repo" / "sub" / "big-00001-of-00003.gguf"
    _assert_whole(watched, split)
    watched.assert_progress_is_sane()
    assert watched.states[-1].done_bytes == split.size
    assert list(watched.folder.rglob("*.part")) == []
    assert not any(path.is_symlink() for path in watched.folder.rglob("*"))


@pytest.mark.parametrize("failing", range(3))
def test_no_half_model_is_ever_listed(
    hub: FakeHub, watched: Watched, split: RemoteModel, failing: int
) -> None:
    """Each part cannot be fetched in turn."""
    gone = hub.repos["org/repo"].files.pop(split.parts[failing].path)
    with pytest.raises(Exception, match="no longer has this file"):
        watched.run(split)
    assert list(find_models([watched.folder])) == []
    assert kept_bytes(split, watched.folder) == sum(part.size for part in split.parts[:failing])
    hub.repos["org/repo"].files[split.parts[failing].path] = gone
    hub.seen.clear()
    watched.run(split)
    _assert_whole(watched, split)
    assert len([seen for seen in hub.seen if seen.port == hub.storage_port]) == 3 - failing


@pytest.mark.parametrize("n_moved", [0, 1, 2])
def test_a_crash_while_parts_are_moved(
    hub: FakeHub, watched: Watched, split: RemoteModel, n_moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename
    moved: list[Path] = []

    def rename_some(path: Path, target: Path) -> Path:
        if path.suffix == ".part" and len(moved) == n_moved:
            raise KeyboardInterrupt
        moved.append(target)
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename_some)
        with pytest.raises(KeyboardInterrupt):
            watched.run(split)
    assert not (watched.folder / "org/repo" / split.parts[0].path).exists()
    assert kept_bytes(split, watched.folder) == split.size
    hub.seen.clear()
    watched.states.clear()
    watched.run(split)
    assert hub.seen == []
    _assert_whole(watched, split)


def test_a_model_that_is_there_is_not_fetched_again(
    hub: FakeHub, watched: Watched, split: RemoteModel
) -> None:
    first = watched.run(split)
    hub.seen.clear()
    assert watched.run(split) == first
    assert hub.seen == []


def test_a_right_file_that_somebody_put_there_is_taken(
    hub: FakeHub, watched: Watched, split: RemoteModel
) -> None:
    path = watched.folder / "org/repo" / split.parts[1].path
    path.parent.mkdir(parents=True)
    path.write_bytes(content(hub, split, 1))
    watched.run(split)
    assert not any("00002" in seen.path for seen in hub.seen)
    _assert_whole(watched, split)
    assert origin_of(path) is not None


@pytest.mark.parametrize("size", [100_000, 5])
def test_another_file_with_the_name_is_never_overwritten(
    hub: FakeHub, watched: Watched, split: RemoteModel, size: int
) -> None:
    path = watched.folder / "org/repo" / split.parts[0].path
    path.parent.mkdir(parents=True)
    path.write_bytes(bytes(size))
    with pytest.raises(NameTaken):
        watched.run(split)
    assert hub.seen == []
    assert path.read_bytes() == bytes(size)


def test_a_file_that_appears_meanwhile_is_not_overwritten(
    hub: FakeHub, watched: Watched, split: RemoteModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = watched.folder / "org/repo" / split.parts[0].path

    def record(*arguments: Any) -> None:
        path.write_bytes(b"the user's")

    monkeypatch.setattr(placing, "record_origins", record)
    with pytest.raises(NameTaken):
        watched.run(split)
    assert path.read_bytes() == b"the user's"


def test_equal_names_lie_side_by_side_and_without_links(
    hub: FakeHub, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "symlink", refuse)
    monkeypatch.setattr(os, "link", refuse)
    models = [
        offer(hub, {"model-Q4.gguf": 1000}, "org-a/x"),
        offer(hub, {"model-Q4.gguf": 1000}, "org-b/x"),
    ]
    both = offer(hub, {"a/model-Q4.gguf": 1000, "b/model-Q4.gguf": 1000}, "org-c/x")
    models += [replace(both, parts=(part,)) for part in both.parts]
    paths = [watched.run(model) for model in models]
    assert len(set(paths)) == 4
    for model, path in zip(models, paths, strict=True):
        assert path.read_bytes() == content(hub, model)
        origin = origin_of(path)
        assert origin is not None
        assert origin.repo_id == model.repo_id
    paths[0].unlink()
    assert all(path.is_file() for path in paths[1:])
    assert origin_of(paths[0]) is None
    assert origin_of(paths[1]) is not None


def test_origin_holds_while_size_and_time_are_the_same(
    hub: FakeHub, watched: Watched, split: RemoteModel
) -> None:
    path = watched.run(split)
    status = path.stat()
    part = split.parts[0]
    assert origin_of(path) == Origin("org/repo", COMMIT, part.sha256, part.size, status.st_mtime_ns)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))
    assert origin_of(path) is None
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert origin_of(path) is not None
    path.write_bytes(b"other")
    assert origin_of(path) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"files": []}', '{"files": {"m.gguf": {"size": 1}}}', "[" * 9999]
)
def test_a_damaged_record_of_origins_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / ".weir-origin.json").write_text(text)
    (tmp_path / "m.gguf").write_bytes(b"x")
    assert origin_of(tmp_path / "m.gguf") is None
    assert origin_of(tmp_path / "none.gguf") is None


def test_two_downloads_of_one_repository_both_have_their_origin(hub: FakeHub, watched: Watched) -> None:
    both = offer(hub, {f"{number}.gguf": 50_000 for number in range(6)})
    models = [replace(both, parts=(part,)) for part in both.parts]
    others = [Watched(hub, watched.folder) for _ in models]
    threads = [
        threading.Thread(target=other.run, args=(model,)) for other, model in zip(others, models, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(origin_of(other.states[-1].path or Path()) for other in others)


def test_only_one_process_downloads_a_model(hub: FakeHub, watched: Watched, split: RemoteModel) -> None:
    with locked_job(split, watched.folder):
        with pytest.raises(AlreadyDownloading):
            watched.run(split)
        with pytest.raises(AlreadyDownloading):
            discard_download(split, watched.folder)
    watched.run(split)


def test_cancelling_deletes_what_was_kept(hub: FakeHub, watched: Watched) -> None:
    model = offer(hub, {"model.gguf": 500_000})
    discard_download(model, watched.folder)
    keep(watched.folder, hub, model, 200_000)
    assert kept_bytes(model, watched.folder) == 200_000
    discard_download(model, watched.folder)
    assert kept_bytes(model, watched.folder) == 0
    assert [path for path in watched.folder.rglob("*") if path.is_file() and path.suffix != ".lock"] == []


def test_a_new_commit_with_the_same_content_goes_on(hub: FakeHub, watched: Watched) -> None:
    model = offer(hub, {"model.gguf": 500_000})
    keep(watched.folder, hub, model, 200_000)
    hub.repos["org/repo"].commit = "f" * 40
    watched.run(replace(model, revision="f" * 40))
    assert hub.seen[-1].headers["Range"] == "bytes=200000-"


def test_other_content_under_the_same_name_starts_anew(hub: FakeHub, watched: Watched) -> None:
    model = offer(hub, {"model.gguf": 500_000})
    keep(watched.folder, hub, model, 200_000)
    model = offer(hub, {"model.gguf": 500_000})
    assert watched.run(model).read_bytes() == content(hub, model)
    assert "Range" not in hub.seen[-1].headers


def test_models_that_cannot_be_begun(hub: FakeHub, watched: Watched, split: RemoteModel) -> None:
    with pytest.raises(PartsMissing, match="big-2"):
        watched.run(replace(split, missing=("big-2",)))
    with pytest.raises(UnsafeName):
        watched.run(replace(split, parts=(replace(split.parts[0], path="../x.gguf"),)))
    assert hub.seen == []
    assert not watched.folder.exists()


def test_a_file_without_a_hash_is_taken_by_its_size(hub: FakeHub, watched: Watched) -> None:
    model = offer(hub, {"small.gguf": 100})
    model = replace(model, parts=(replace(model.parts[0], sha256=None),))
    hub.repos["org/repo"].files["small.gguf"].is_lfs = False
    path = watched.run(model)
    assert path.read_bytes() == content(hub, model)
    assert watched.run(model) == path


def test_an_empty_file(hub: FakeHub, watched: Watched) -> None:
    model = offer(hub, {"empty.gguf": b""})
    assert watched.run(model).read_bytes() == b""


def test_stopped_before_it_began(hub: FakeHub, watched: Watched, split: RemoteModel) -> None:
    watched.stop.set()
    with pytest.raises(DownloadStopped):
        watched.run(split)
    assert list(watched.folder.rglob("*.gguf")) == []
