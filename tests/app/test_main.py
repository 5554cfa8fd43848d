from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from app import __main__ as weir
from app.cli import chat
from app.cli.arguments import ChatOptions
from engine.version import VERSION


def test_worker_that_imports_the_main_module_gets_nothing_heavy() -> None:
    code = "import sys, app.__main__; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in ran.stdout.split()}
    assert not loaded & {"PySide6", "shiboken6", "llama_cpp", "gguf", "numpy", "jinja2", "psutil", "sqlite3"}


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        weir.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"weir {VERSION}\n"


def test_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        weir.main(["dance"])
    assert stopped.value.code == 2
    assert "chat" in capsys.readouterr().err


def test_impossible_sampling_is_one_line_and_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        weir.main(["chat", "--temp", "nan"])
    assert stopped.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1
    assert "temperature must be between" in captured.err


def test_without_a_command_the_window_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    window, told = types.ModuleType("app.window"), []
    head_start = types.SimpleNamespace(close=lambda: told.append("closed"))

    def run_window(argv: list[str], given: object) -> int:
        assert given is head_start
        told.append("opened")
        return 42 + len(argv)

    monkeypatch.setattr(window, "run_window", run_window, raising=False)
    monkeypatch.setitem(sys.modules, "app.window", window)
    monkeypatch.setattr("app.display.display_problem", lambda: None)
    monkeypatch.setattr("engine.client.HeadStart", lambda: head_start)
    assert weir.main([]) == 42
    assert told == ["opened", "closed"]


def test_without_a_display_the_terminal_chat_runs_on_the_starter_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], starter_model: Path
) -> None:
    asked: list[ChatOptions] = []

    def run_chat(options: ChatOptions) -> int:
        asked.append(options)
        return 7

    monkeypatch.setattr("app.display.display_problem", lambda: "No display: nothing is set.")
    monkeypatch.setattr(chat, "run_chat", run_chat)
    assert weir.main([]) == 7
    assert asked == [ChatOptions(model=str(starter_model))]
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1
    assert "No display: nothing is set." in captured.err


def test_text_that_the_locale_cannot_write_is_written_all_the_same() -> None:
    code = "import app.__main__ as w; w._in_terminal(lambda: print('سلام') or 0)"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
    assert ran.stdout == "سلام\n".encode()
