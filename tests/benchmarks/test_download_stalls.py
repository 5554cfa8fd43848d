"""The window while three downloads run at full speed: no stall of 50 ms."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(300)]

SIZE = 500_000_000
PROGRAM = [sys.executable, "-m", "tests.benchmarks.download_stalls"]


def test_three_downloads_at_full_speed_never_stall_the_window(tmp_path: Path) -> None:
    source = tmp_path / "source.gguf"
    digest = hashlib.sha256()
    with source.open("wb") as file:
        for _ in range(SIZE // 10_000_000):
            piece = os.urandom(10_000_000)
            digest.update(piece)
            file.write(piece)
    hub = subprocess.Popen(
        [*PROGRAM, "hub", str(source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert hub.stdin and hub.stdout
    endpoint = hub.stdout.readline().strip()
    window = [*PROGRAM, "window", endpoint, str(SIZE), digest.hexdigest(), str(tmp_path / "models")]
    run = subprocess.run(window, capture_output=True, text=True, check=True)
    hub.stdin.close()
    hub.stdout.close()
    hub.wait(10)
    found = json.loads(run.stdout.splitlines()[-1])
    print("\n" + "\n".join(f"{name}: {value}" for name, value in found.items()))
    assert found["most_running"] == 3
    assert found["longest_stall_ms"] < 50
