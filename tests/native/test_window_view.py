"""The line above which the model does not see, in the real window with the real engine and model."""

from __future__ import annotations

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.data.stored_message import StoredMessage
from app.item_models.sight import Presence
from app.services.notice import Notice
from app.window import Weir
from engine.client import EngineClient
from engine.protocol import CacheView, Event, Sampling

SECONDS = 60_000
N_CTX = 512
# About 90 tokens: six of them and their replies are more than the context.
QUESTION = (
    "Tell me about river {0}. " + "How long is it, and why does it bend so often in its wide valley? " * 5
)
N_TURNS = 6


class Desk:
    """The running program with a small context, short replies, and an ear on the engine."""

    def __init__(self, qtbot: QtBot, starter: Path) -> None:
        self.qtbot = qtbot
        self.views: list[CacheView] = []
        self.notices: list[Notice] = []
        self.weir = Weir(EngineClient, starter)
        self.weir.loader.event_received.connect(self._on_event)
        self.weir.preferences.update(max_tokens=8, n_ctx=N_CTX, n_threads=1, sampling=Sampling(temperature=0))
        qtbot.addWidget(self.weir.window)
        self.weir.show()
        self.wait(lambda: self.weir.loader.info is not None)
        assert self.weir.open
        self.weir.open.pins.notice.connect(self.notices.append)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, CacheView):
            self.views.append(event)

    def wait(self, condition: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=SECONDS)

    def ask(self, text: str) -> None:
        """Write, send, and wait for the end of the reply and of all questions about it."""
        self.weir.window.composer.edit.set_text(text)
        QTest.keyClick(self.weir.window.composer.edit, Qt.Key.Key_Return)
        self.wait_until_idle()

    def wait_until_idle(self) -> None:
        assert self.weir.open
        sights, controller = self.weir.open.sights, self.weir.open.controller
        self.wait(lambda: controller.open_chat_id and sights.is_settled(controller.open_chat_id))

    def open_first_chat(self) -> None:
        assert self.weir.open
        self.weir.open.controller.open(self.weir.open.store.list_chats()[0].id)
        self.wait_until_idle()

    @property
    def shown(self) -> list[StoredMessage]:
        transcript = self.weir.transcript
        return [transcript.message_at(row) for row in range(transcript.rowCount())]

    @property
    def line(self) -> int:
        row = self.weir.transcript.line_row
        assert row is not None
        return row

    def presence(self, row: int) -> Presence:
        return self.weir.transcript.presence_of(self.shown[row])

    def close(self) -> None:
        self.weir.window.close()
        QApplication.processEvents()


@pytest.fixture
def start(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starter_model: Path
) -> Iterator[Callable[[], Desk]]:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    desks: list[Desk] = []

    def start() -> Desk:
        desks.append(Desk(qtbot, starter_model))
        return desks[-1]

    yield start
    for desk in desks:
        desk.weir.window.close()


def test_line_stands_where_the_engine_says_also_after_a_restart(start: Callable[[], Desk]) -> None:
    desk = start()
    for turn in range(N_TURNS):
        desk.ask(QUESTION.format(turn))
    seen = desk.views[-1]
    assert not seen.is_forecast and seen.first_seen and seen.n_messages == len(desk.shown) == 2 * N_TURNS
    assert desk.line == seen.first_seen  # no system prompt: messages are rows
    assert {desk.presence(row) for row in range(desk.line)} == {Presence.UNSEEN}
    assert desk.presence(-1) is Presence.SEEN
    parts = desk.weir.window.status.bar.parts
    assert parts.n_window > 0 and parts.n_sinks + parts.n_window <= N_CTX
    held = desk.line
    desk.close()

    again = start()
    again.open_first_chat()
    assert again.views[-1].is_forecast
    assert again.line == again.views[-1].first_seen
    assert held <= again.line < 2 * N_TURNS
    assert again.weir.window.transcript.line.accessibleName().startswith("with your next message")
    again.ask("And the last one?")
    assert not again.weir.transcript.sight.is_forecast
    assert again.line == again.views[-1].first_seen


def test_pinned_message_stays_seen_above_the_line(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.ask("The code word is PELICAN-7.")
    assert desk.weir.open
    desk.weir.open.pins.set_pinned(desk.shown[0].id, True)
    desk.wait_until_idle()
    for turn in range(N_TURNS):
        desk.ask(QUESTION.format(turn))
    assert desk.line > 1
    assert desk.presence(0) is Presence.STILL_SEEN
    assert desk.presence(1) is Presence.UNSEEN
    assert desk.notices == []
    desk.weir.open.pins.set_pinned(desk.shown[0].id, False)
    desk.wait_until_idle()
    assert desk.presence(0) is Presence.UNSEEN


def test_edit_again_and_a_larger_context_move_the_line_by_what_the_engine_says(
    start: Callable[[], Desk],
) -> None:
    desk = start()
    for turn in range(N_TURNS):
        desk.ask(QUESTION.format(turn))
    assert desk.weir.open
    line = desk.line
    desk.weir.open.branches.again(desk.shown[-1].id)
    desk.wait_until_idle()
    assert len(desk.shown) == 2 * N_TURNS
    assert line <= desk.line == desk.views[-1].first_seen
    edited = desk.shown[line - 2 + line % 2]  # a user message that the model does not see any more
    desk.weir.open.controller.begin_edit(edited.id)
    desk.weir.window.composer.edit.set_text("Let us speak of lakes instead.")
    QTest.keyClick(desk.weir.window.composer.edit, Qt.Key.Key_Return)
    desk.wait_until_idle()
    assert desk.shown[-2].content == "Let us speak of lakes instead."
    assert desk.weir.transcript.line_row in (None, desk.views[-1].first_seen)
    desk.weir.window.model_bar.cache.n_ctx_chosen.emit(2048)
    desk.wait(lambda: desk.weir.loader.info and desk.weir.loader.info.n_ctx == 2048)
    desk.wait_until_idle()
    assert desk.weir.transcript.line_row is None  # all of it fits now
