"""A process that is killed at any moment leaves what the next one goes on with."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engine.download.downloads import content, offer
from tests.fake_hub.server import FakeHub

SIZE = 20_000_000
N_KILLS = 20


def _start(hub: FakeHub, size: int, sha256: str | None, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.benchmarks.download_speed"]
    return subprocess.Popen(
        [*command, hub.endpoint, str(size), str(sha256), str(folder)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a signal")
def test_twenty_kills_in_the_middle(hub: FakeHub, tmp_path: Path) -> None:
    model = offer(hub, {"model.gguf": SIZE})
    hub.faults.bytes_per_second = 20e6
    chance = random.Random(9)
    kept: list[int] = []
    for _ in range(N_KILLS):
        n_before = kept[-1] if kept else 0
        process = _start(hub, SIZE, model.parts[0].sha256, tmp_path)
        _wait_until_kept(tmp_path, n_before + chance.randrange(SIZE // N_KILLS // 2) + 1)
        process.kill()
        process.communicate()
        kept.append(_kept(tmp_path))
    assert list(tmp_path.rglob("*.gguf")) == []
    hub.faults.bytes_per_second = None
    with _start(hub, SIZE, model.parts[0].sha256, tmp_path) as process:
        assert process.wait(30) == 0
    assert (tmp_path / "org" / "repo" / "model.gguf").read_bytes() == content(hub, model)
    asked = [seen.headers.get("Range") for seen in hub.seen if seen.port == hub.storage_port]
    assert asked == [None] + [
        f"bytes={n_bytes}-" for n_bytes in kept
    ]  # nothing that is there is fetched again


def _kept(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.part"))


def _wait_until_kept(folder: Path, n_bytes: int) -> None:
    end = time.monotonic() + 20
    while _kept(folder) < n_bytes:
        assert time.monotonic() < end
        time.sleep(0.005)
