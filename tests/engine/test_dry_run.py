from __future__ import annotations

import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from engine import dry_run
from engine.dry_run import Refused, try_out
from engine.memory.memory_plan import LoadShape

SHAPE = LoadShape(512, 0, 1)


def _abort(_connection: Connection, _path: str, _shape: LoadShape) -> None:
    signal.raise_signal(signal.SIGABRT)


def _kill(_connection: Connection, _path: str, _shape: LoadShape) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_file_that_llama_cpp_crashes_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "_measure", _abort)
    found = try_out(Path("folder/bad.gguf"), SHAPE)
    assert isinstance(found, Refused)
    assert found.reason.startswith("llama.cpp crashed on bad.gguf.")


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_process_that_somebody_else_ended_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "_measure", _kill)
    assert try_out(Path("good.gguf"), SHAPE) is None
