"""A disk that fills up, or that cannot be written to."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engine.download import model_download, partial
from engine.download.download_errors import CannotWrite, DiskFull
from engine.download.job import job_folder
from engine.download.model_download import kept_bytes
from engine.download.names import DOWNLOADS_FOLDER
from engine.download.space import RESERVE_BYTES
from tests.engine.download.downloads import Watched, content, keep, offer
from tests.fake_hub.server import FakeHub


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_too_little_space_is_told_before_a_byte_is_fetched(
    hub: FakeHub, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = offer(hub, {"model.gguf": 500_000})
    free = RESERVE_BYTES + 100_000
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(0, 0, free))
    with pytest.raises(DiskFull, match=r"model\.gguf.*stay free for the system.*Nothing was fetched") as full:
        watched.run(model)
    assert full.value.missing_bytes == 400_000
    assert hub.seen == []


class _SmallDisk(io.FileIO):
    """Writes as much as fits, then fails."""

    room = 0

    def write(self, data: Any) -> int:
        view = memoryview(data)[: _SmallDisk.room]
        if not view:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        _SmallDisk.room -= len(view)
        return super().write(view)


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_SmallDisk]]:
    monkeypatch.setattr(partial, "open_to_append", lambda path: _SmallDisk(path, "ab"))
    yield _SmallDisk


def test_a_disk_that_fills_up_in_the_middle_leaves_what_can_be_gone_on_with(
    hub: FakeHub, watched: Watched, small_disk: type[_SmallDisk]
) -> None:
    model = offer(hub, {"model.gguf": 500_000})
    for room, n_kept in ((123_456, 123_456), (100_000, 223_456)):
        small_disk.room = room
        with pytest.raises(DiskFull, match="What was fetched is kept"):
            watched.run(model)
        assert next(watched.folder.rglob("*.part")).stat().st_size == n_kept
    small_disk.room = 10**9
    hub.seen.clear()
    assert watched.run(model).read_bytes() == content(hub, model)
    assert hub.seen[-1].headers["Range"] == "bytes=223456-"


def test_what_is_missing_is_what_remains_beyond_what_is_free(
    hub: FakeHub, watched: Watched, small_disk: type[_SmallDisk], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = offer(hub, {"model.gguf": 30_000_000})
    small_disk.room = 1_000_000
    monkeypatch.setattr(model_download._Download, "_check_space", lambda _self: None)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(0, 0, 4_000_000))
    with pytest.raises(DiskFull) as full:
        watched.run(model)
    assert full.value.missing_bytes == 25_000_000 + RESERVE_BYTES


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no disk that is always full")
def test_a_real_full_disk(hub: FakeHub, watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    model = offer(hub, {"model.gguf": 500_000})
    monkeypatch.setattr(partial, "open_to_append", lambda _path: io.FileIO("/dev/full", "ab"))
    with pytest.raises(DiskFull):
        watched.run(model)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such limit there")
def test_a_file_system_that_cannot_hold_files_so_large(hub: FakeHub, watched: Watched) -> None:
    """As FAT32, which ends at 4 GiB; here by a limit of the process."""
    import resource

    model = offer(hub, {"model.gguf": 500_000})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(CannotWrite, match="File too large"):
            watched.run(model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert next(watched.folder.rglob("*.part")).stat().st_size == 200_000
    assert watched.run(model).read_bytes() == content(hub, model)


def test_a_models_folder_that_is_a_file(hub: FakeHub, watched: Watched) -> None:
    model = offer(hub, {"model.gguf": 500})
    watched.folder.write_text("not a folder")
    with pytest.raises(CannotWrite, match="Nothing was fetched"):
        watched.run(model)


def test_a_file_in_place_of_the_folder_of_partial_files_is_named(hub: FakeHub, watched: Watched) -> None:
    model = offer(hub, {"model.gguf": 500})
    in_place = watched.folder / DOWNLOADS_FOLDER
    in_place.parent.mkdir(exist_ok=True)
    in_place.write_text("not a folder")
    with pytest.raises(CannotWrite, match=re.escape(str(in_place))):
        watched.run(model)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_partial_that_is_no_file_of_its_own_is_replaced(hub: FakeHub, watched: Watched, kind: str) -> None:
    model = offer(hub, {"model.gguf": 500_000})
    keep(watched.folder, hub, model, 100_000)
    part = next(watched.folder.rglob("*.part"))
    part.unlink()
    precious = watched.folder.parent / "precious.txt"
    precious.write_bytes(b"mine")
    if kind == "link":
        part.symlink_to(precious)
    else:
        os.mkfifo(part)
    assert kept_bytes(model, watched.folder) == 0
    assert watched.run(model).read_bytes() == content(hub, model)
    assert precious.read_bytes() == b"mine"


def test_a_damaged_record_makes_the_part_start_anew(hub: FakeHub, watched: Watched) -> None:
    model = offer(hub, {"model.gguf": 500_000})
    job = job_folder(model, watched.folder)
    job.mkdir(parents=True)
    (job / "0.part").write_bytes(b"x" * 1000)
    (job / "0.json").write_text("{")
    assert watched.run(model).read_bytes() == content(hub, model)
    assert "Range" not in hub.seen[-1].headers
    assert shutil.disk_usage(watched.folder).free > 0
