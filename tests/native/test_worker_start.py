"""How a worker starts: early, with little, and with a word on the machine."""

from __future__ import annotations

import queue
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from engine.client import EngineClient, HeadStart
from engine.protocol import Event, LoadModel, LoadProgress, ModelLoaded


def test_worker_imports_nothing_that_a_chat_does_not_need() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import sys, engine.worker; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(run.stdout.split())
    assert "llama_cpp.llama_cpp" in loaded
    assert not loaded & {"llama_cpp.llama", "numpy", "jinja2", "yaml", "gguf", "diskcache", "sqlite3"}


def test_worker_tells_the_devices_before_it_loads_anything() -> None:
    client = EngineClient(lambda _event: None)
    try:
        assert any(device.kind == "cpu" for device in client.devices())
    finally:
        client.close()


def test_devices_of_a_worker_that_died_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    client = EngineClient(lambda _event: None)
    assert client.pid is not None
    psutil.Process(client.pid).kill()
    assert client.devices() == ()
    client.close()


def test_first_client_gets_the_worker_that_started_early(starter_model: Path) -> None:
    head_start = HeadStart()
    (early,) = _workers()
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    first, second = head_start.client(events.put), head_start.client(lambda _event: None)
    try:
        assert first.pid == early.pid != second.pid
        first.send(LoadModel(str(starter_model), n_ctx=256, n_threads=1))
        while isinstance(event := events.get(timeout=30), LoadProgress):
            pass
        assert isinstance(event, ModelLoaded)
        head_start.close()
        assert early.is_running()
    finally:
        first.close()
        second.close()


def test_worker_that_nobody_took_is_ended() -> None:
    head_start = HeadStart()
    (early,) = _workers()
    head_start.close()
    assert not early.is_running()
    head_start.close()  # any number of times


def _workers() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [child for child in children if not any("resource_tracker" in word for word in child.cmdline())]
