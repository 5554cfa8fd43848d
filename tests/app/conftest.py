"""Qt without a screen, data in a folder of the test's own, and an engine that says what it is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.services.notice import Notice
from app.window import Weir
from tests.app.scripted_engine import ScriptedEngine

STARTER = Path("/models/starter.gguf")


def settle() -> None:
    """Let everything that is due happen: queued signals, timers of zero, deletions."""
    for _ in range(5):
        QApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


class Desk:
    """The running program with hands on it."""

    def __init__(self, weir: Weir, engine: ScriptedEngine) -> None:
        self.weir = weir
        self.engine = engine
        self.notices: list[Notice] = []
        weir.loader.notice.connect(self.notices.append)
        assert weir.open is not None
        self.chats = weir.open
        self.controller = self.chats.controller
        self.store = self.chats.store
        for teller in (
            *(self.controller, self.chats.pins, self.chats.list, self.chats.files),
            *(self.chats.options, self.chats.attachments, weir.options),
        ):
            teller.notice.connect(self.notices.append)

    def send(self, text: str) -> None:
        """Write and press Enter."""
        self.weir.window.composer.edit.set_text(text)
        self.weir.window.composer.edit.submitted.emit()
        settle()

    def say(self, act: Callable[..., None], *values: object) -> None:
        """Let the engine say something and have it arrive."""
        act(*values)
        settle()

    def shown(self) -> list[str]:
        """The texts in the transcript."""
        rows = range(self.weir.transcript.rowCount())
        return [self.weir.transcript.message_at(row).content for row in rows]

    def stored(self, chat_id: str | None = None) -> list[tuple[str, str]]:
        """Texts and states in the store, of the open chat or another."""
        chat = chat_id or self.controller.open_chat_id
        return [(m.content, m.state.value) for m in self.store.messages(chat)] if chat else []


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def start(qtbot: QtBot, home: Path, engine: ScriptedEngine) -> Iterator[Callable[[], Desk]]:
    """Starts the program; a second call starts it again on the same data."""
    running: list[Weir] = []

    def start() -> Desk:
        weir = Weir(engine, STARTER)
        running.append(weir)
        qtbot.addWidget(weir.window)
        weir.show()
        settle()
        return Desk(weir, engine)

    yield start
    for weir in running:
        weir.window.close()
    settle()


@pytest.fixture
def desk(start: Callable[[], Desk]) -> Desk:
    """The program with its starter model loaded."""
    desk = start()
    desk.say(desk.engine.newest.load)
    return desk
