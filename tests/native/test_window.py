"""The real window with the real engine and model: what a person does in the first five minutes."""

from __future__ import annotations

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.data.stored_message import MessageState, StoredMessage
from app.services.notice import Notice
from app.window import Weir
from engine.client import EngineClient
from engine.protocol import Event, Role

SECONDS = 60_000


class Desk:
    """The running program, with hands on its keyboard."""

    def __init__(self, qtbot: QtBot, starter: Path) -> None:
        self.qtbot = qtbot
        self.workers: list[EngineClient] = []
        self.notices: list[Notice] = []
        self.weir = Weir(self._make_client, starter)
        self.weir.loader.notice.connect(self.notices.append)
        # Short replies, and the same ones every time.
        self.weir.preferences.update(max_tokens=120, n_ctx=1024, n_threads=1)
        qtbot.addWidget(self.weir.window)
        self.weir.show()
        self.wait(lambda: self.weir.loader.info is not None)

    def _make_client(self, on_event: Callable[[Event], None]) -> EngineClient:
        self.workers.append(EngineClient(on_event))
        return self.workers[-1]

    def wait(self, condition: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=SECONDS)

    def type(self, text: str) -> None:
        edit = self.weir.window.composer.edit
        edit.setFocus()
        QTest.keyClicks(edit, text)
        QTest.keyClick(edit, Qt.Key.Key_Return)

    @property
    def messages(self) -> list[StoredMessage]:
        assert self.weir.open
        chat = self.weir.open.controller.open_chat_id
        return self.weir.open.store.messages(chat) if chat else []

    @property
    def shown(self) -> list[str]:
        transcript = self.weir.transcript
        return [transcript.message_at(row).content for row in range(transcript.rowCount())]

    def reply_grows(self) -> bool:
        return len(self.shown) > 1 and len(self.shown[-1]) > 10

    def reply_is_done(self) -> bool:
        messages = self.messages
        return (
            bool(messages)
            and messages[-1].role is Role.ASSISTANT
            and messages[-1].state is not MessageState.STREAMING
        )

    def close(self) -> float:
        """Close the window; returns the seconds until everything has ended."""
        started = time.monotonic()
        family = psutil.Process().children(recursive=True)
        self.weir.window.close()
        QApplication.processEvents()
        _gone, alive = psutil.wait_procs(
            [p for p in family if "resource_tracker" not in " ".join(_command(p))], timeout=10
        )
        assert not alive, alive
        return time.monotonic() - started


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


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


def test_send_stream_and_reopen_after_a_restart(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.type("Name three rivers.")
    desk.wait(desk.reply_grows)
    assert not desk.reply_is_done()  # it streams: the text is seen before it is complete
    desk.wait(desk.reply_is_done)
    question, reply = desk.messages
    assert (question.content, reply.content) == tuple(desk.shown)
    assert reply.numbers and reply.numbers.decode_tps and reply.numbers.ttft_ms
    desk.close()

    again = start()
    assert again.weir.open
    (chat,) = again.weir.open.store.list_chats()
    again.weir.open.controller.open(chat.id)
    assert again.shown == [question.content, reply.content]
    again.type("And one more?")
    again.wait(lambda: len(again.messages) == 4 and again.reply_is_done())


def test_stop_keeps_the_text_and_the_next_message_is_answered(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.type("Write a very long story about a river and its valley.")
    desk.wait(desk.reply_grows)
    QTest.keyClick(desk.weir.window, Qt.Key.Key_Escape)
    desk.wait(desk.reply_is_done)
    stopped = desk.messages[-1]
    assert stopped.content and stopped.state is MessageState.INTERRUPTED
    desk.type("Now say hello.")
    desk.wait(lambda: len(desk.messages) == 4 and desk.reply_is_done())
    assert desk.messages[1].content == stopped.content


def test_a_killed_engine_leaves_the_text_and_answers_the_next_message(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.type("Write a very long story about a river and its valley.")
    desk.wait(desk.reply_grows)
    assert desk.workers[-1].pid
    os.kill(desk.workers[-1].pid, signal.SIGKILL)
    desk.wait(desk.reply_is_done)
    assert desk.messages[-1].state is MessageState.INTERRUPTED and len(desk.messages[-1].content) > 10
    desk.type("Now say hello.")
    desk.wait(lambda: len(desk.messages) == 4 and desk.reply_is_done())
    assert desk.messages[-1].content and len(desk.workers) == 2


@pytest.mark.parametrize("kind", ["bad_files", "no_byte_tokens_model"])
def test_a_model_that_cannot_be_loaded_leaves_the_other_answering(
    start: Callable[[], Desk], kind: str, request: pytest.FixtureRequest, starter_model: Path
) -> None:
    found = request.getfixturevalue(kind)
    culprit: Path = found["cut-half"] if isinstance(found, dict) else found
    desk = start()
    desk.weir.loader.load(str(culprit))
    desk.wait(lambda: desk.notices)
    assert culprit.name in desk.notices[0].message
    assert desk.weir.preferences.settings.last_model == str(starter_model)  # what a restart loads
    desk.type("Say hello.")
    desk.wait(desk.reply_is_done)
    assert desk.messages[-1].content


def test_closing_in_the_middle_of_a_reply_is_quick_and_keeps_the_text(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.type("Write a very long story about a river and its valley.")
    desk.wait(desk.reply_grows)
    assert desk.close() < 2
    again = start()
    assert again.weir.open
    again.weir.open.controller.open(again.weir.open.store.list_chats()[0].id)
    assert again.messages[-1].state is MessageState.INTERRUPTED and len(again.messages[-1].content) > 10


def test_the_gauges_show_what_the_engine_measured(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.type("Name three rivers.")
    desk.wait(desk.reply_is_done)
    assert desk.messages[-1].numbers
    status = desk.weir.window.status
    desk.wait(lambda: "of 1,024 cells" in status.bar.accessibleDescription())
    assert not status.bar.accessibleDescription().startswith("0 of")
    for gauge in (status.prompt, status.first, status.memory):
        assert "n/a" not in gauge.text() and "nan" not in gauge.text().lower()
