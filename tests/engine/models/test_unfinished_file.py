"""What a process leaves unfinished is swept once it is gone, and not before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from engine.models.unfinished_file import sweep, unfinished_path


def test_what_this_process_writes_stays(tmp_path: Path) -> None:
    mine = unfinished_path(tmp_path / "m.gguf")
    mine.write_bytes(b"half")
    sweep(tmp_path)
    assert mine.exists() and mine.suffix == ".part"


def test_what_a_process_has_left_that_is_gone_is_swept(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = tmp_path / f".m.gguf.{gone.pid}.part"
    left.write_bytes(b"half")
    sweep(tmp_path)
    assert not left.exists()


def test_a_younger_process_of_the_same_number_does_not_keep_it(tmp_path: Path) -> None:
    left = tmp_path / f".m.gguf.{os.getpid()}.part"
    left.write_bytes(b"half")
    os.utime(left, (1_000_000_000, 1_000_000_000))
    sweep(tmp_path)
    assert not left.exists()


def test_other_files_and_missing_folders_are_left_alone(tmp_path: Path) -> None:
    names = ("m.gguf", ".m.gguf.part", "1.part", ".x.part")
    for name in names:
        (tmp_path / name).write_bytes(b"")
    sweep(tmp_path)
    sweep(tmp_path / "nowhere")
    assert {path.name for path in tmp_path.iterdir()} == set(names)
