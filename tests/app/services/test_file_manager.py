"""A file is shown in its folder, whatever the desktop can do."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QProcess
from PySide6.QtGui import QDesktopServices
from pytestqt.qtbot import QtBot

from app.services.file_manager import reveal


@pytest.fixture
def opened(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    opened: list[str] = []

    def open_url(url: object) -> bool:
        opened.append(url.toLocalFile())  # type: ignore[attr-defined]
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    return opened


def test_where_no_file_manager_can_be_asked_the_folder_is_opened(
    opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    reveal(Path("/models/a b/m.gguf"))
    assert opened == ["/models/a b"]


@pytest.mark.parametrize(
    ("platform", "command"),
    [
        ("darwin", ("open", ["-R", "/models/m.gguf"])),
        ("win32", ("explorer", ["/select,", "/models/m.gguf"])),
    ],
)
def test_other_systems_are_asked_with_their_own_command(
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    command: tuple[str, list[str]],
) -> None:
    started: list[tuple[str, list[str]]] = []

    def start(program: str, arguments: list[str]) -> bool:
        started.append((program, arguments))
        return True

    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(QProcess, "startDetached", start)
    reveal(Path("/models/m.gguf"))
    assert started == [command]
    assert opened == []
