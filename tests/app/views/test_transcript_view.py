"""A long chat opens at once, streams without stalls, and never moves under the reader."""

from __future__ import annotations

import dataclasses
import itertools
import time

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.data.stored_message import MessageState, StoredMessage
from app.item_models.transcript_item_model import TranscriptItemModel
from app.views.height_table import HeightTable
from app.views.message_view import MessageView
from app.views.transcript_view import TranscriptView
from engine.protocol import Role
from tests.app.conftest import settle

_ANSWER = (
    "A paragraph with **bold** text and `code` that is long enough to be broken over two lines or three.\n\n"
    "```python\ndef f(x: int) -> int:\n    return x + 1\n```\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n\n" + "And some more words to fill the chat. " * 21
)


def _message(number: int, text: str, state: MessageState = MessageState.COMPLETE) -> StoredMessage:
    role = Role.USER if number % 2 == 0 else Role.ASSISTANT
    return StoredMessage(number, "chat", role, text, state, 0.0, "Model")


def _chat(n_messages: int) -> list[StoredMessage]:
    return [_message(n, _ANSWER if n % 2 else f"Question {n}?") for n in range(n_messages)]


@pytest.fixture
def transcript() -> TranscriptItemModel:
    return TranscriptItemModel()


@pytest.fixture
def view(qtbot: QtBot, transcript: TranscriptItemModel) -> TranscriptView:
    view = TranscriptView(transcript)
    qtbot.addWidget(view)
    view.resize(800, 600)
    view.show()
    settle()
    return view


def _stream(transcript: TranscriptItemModel, text: str, state: MessageState = MessageState.STREAMING) -> None:
    last = transcript.message_at(transcript.rowCount() - 1)
    transcript.update_message(dataclasses.replace(last, content=text, state=state))


def _top_of(view: TranscriptView, row: int) -> int:
    message_view = view.message_view(row)
    assert message_view is not None
    return message_view.y()


def test_two_thousand_messages_open_at_once(
    qtbot: QtBot, transcript: TranscriptItemModel, view: TranscriptView
) -> None:
    messages = _chat(2000)
    assert sum(len(message.content) for message in messages) > 1_000_000
    began = time.perf_counter()
    transcript.set_messages(messages)
    settle()
    assert time.perf_counter() - began < 0.5
    assert len(view.viewport().findChildren(MessageView)) < 20
    last = view.message_view(1999)
    assert last is not None
    assert abs(last.geometry().bottom() - view.viewport().height()) < 40


def test_messages_have_their_true_height_and_do_not_overlap(
    transcript: TranscriptItemModel, view: TranscriptView
) -> None:
    transcript.set_messages(_chat(60))
    for value in (0, 3000, 700, 9000):
        view.verticalScrollBar().setValue(value)
        settle()
        shown = sorted(view.viewport().findChildren(MessageView), key=lambda child: child.y())
        for above, below in itertools.pairwise(shown):
            assert above.geometry().bottom() < below.y()
            assert above.height() == above.fit(above.width())


@pytest.mark.parametrize("width", [400, 430, 460, 500])
def test_a_scroll_bar_that_comes_with_a_chat_leaves_no_wrong_height(
    transcript: TranscriptItemModel, view: TranscriptView, width: int
) -> None:
    """The column is as wide as the window: the bar makes it narrower while the chat is being measured."""
    view.resize(width, 300)
    settle()
    transcript.set_messages([_message(n, "The river runs on, and the level stays. " * 4) for n in range(4)])
    settle()
    shown = view.viewport().findChildren(MessageView)
    assert shown
    for child in shown:
        assert child.x() + child.width() <= view.viewport().width()
        assert child.height() == child.fit(child.width())
    assert view.is_at_end()


def test_reader_at_the_end_follows_the_reply(transcript: TranscriptItemModel, view: TranscriptView) -> None:
    transcript.set_messages([*_chat(40), _message(41, "", MessageState.STREAMING)])
    for n in range(1, 30):
        _stream(transcript, "A line of text.\n\n" * n)
        QTest.qWait(5)
    _stream(transcript, "A line of text.\n\n" * 30, MessageState.COMPLETE)
    settle()
    assert view.is_at_end()


# Streaming yanks the reader to the end elsewhere: open-webui/open-webui#4310.
def test_reader_who_scrolled_up_stays_there(transcript: TranscriptItemModel, view: TranscriptView) -> None:
    transcript.set_messages([*_chat(40), _message(41, "", MessageState.STREAMING)])
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() - 900)
    settle()
    before = _top_of(view, 38)
    for n in range(1, 60):
        _stream(transcript, "A line of text.\n\n" * n)
        QTest.qWait(2)
    _stream(transcript, "```\nquite another end\n```\n" * 30, MessageState.COMPLETE)
    settle()
    assert _top_of(view, 38) == before
    assert not view.is_at_end()
    view.scroll_to_end()
    assert view.is_at_end()


def test_reader_inside_the_growing_reply_stays_there(
    transcript: TranscriptItemModel, view: TranscriptView
) -> None:
    transcript.set_messages([*_chat(4), _message(5, "Line.\n\n" * 200, MessageState.STREAMING)])
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() - 1500)
    settle()
    before = _top_of(view, 4)
    for n in range(200, 260):
        _stream(transcript, "Line.\n\n" * n)
        QTest.qWait(2)
    settle()
    assert _top_of(view, 4) == before


def test_scrolling_up_through_estimates_does_not_jump(
    transcript: TranscriptItemModel, view: TranscriptView
) -> None:
    transcript.set_messages(_chat(200))
    bar = view.verticalScrollBar()
    for _ in range(60):
        row = max(r for r in range(200) if (shown := view.message_view(r)) and shown.y() < 300)
        before = _top_of(view, row)
        bar.setValue(bar.value() - 120)
        settle()
        assert _top_of(view, row) - before == 120


def test_narrower_window_keeps_the_place(transcript: TranscriptItemModel, view: TranscriptView) -> None:
    transcript.set_messages(_chat(100))
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle()
    top = next(r for r in range(100) if (shown := view.message_view(r)) and shown.geometry().bottom() > 0)
    view.resize(420, 600)
    settle()
    shown = view.message_view(top)
    assert shown is not None
    assert shown.y() <= 20
    assert shown.geometry().bottom() > 0


def test_streaming_touches_no_other_message(
    transcript: TranscriptItemModel, view: TranscriptView, qtbot: QtBot
) -> None:
    transcript.set_messages([*_chat(40), _message(41, "", MessageState.STREAMING)])
    settle()
    rendered: list[int] = []
    for child in view.viewport().findChildren(MessageView):
        child.body.rendered.connect(lambda child=child: rendered.append(child.message.id))
    for n in range(1, 30):
        _stream(transcript, "word " * n)
        QTest.qWait(5)
    assert set(rendered) == {41}


def test_event_loop_does_not_stall_while_a_long_chat_streams(
    transcript: TranscriptItemModel, view: TranscriptView
) -> None:
    transcript.set_messages([*_chat(2000), _message(2001, "", MessageState.STREAMING)])
    settle()
    stalls: list[float] = []
    last = [time.perf_counter()]

    def tick() -> None:
        now = time.perf_counter()
        stalls.append(now - last[0] - 0.02)
        last[0] = now

    beat = QTimer()
    beat.setInterval(20)
    beat.timeout.connect(tick)
    beat.start()
    words = (_ANSWER * 12).split(" ")
    began = time.perf_counter()
    for n in range(1, 600):  # 3 s at 200 tokens/s
        _stream(transcript, " ".join(words[:n]))
        QTest.qWait(max(0, int((began + n * 0.005 - time.perf_counter()) * 1000)))
    beat.stop()
    assert max(stalls) < 0.2


def test_focused_message_keeps_its_widget(transcript: TranscriptItemModel, view: TranscriptView) -> None:
    transcript.set_messages(_chat(100))
    focused = view.message_view(99)
    assert focused is not None
    view.activateWindow()
    focused.body.setFocus()
    view.verticalScrollBar().setValue(0)
    settle()
    assert view.message_view(99) is focused
    assert not view.viewport().rect().intersects(focused.geometry())


def test_heights_add_up_through_all_changes() -> None:
    table = HeightTable()
    table.reset([10, 20, 30])
    assert (table.total(), table.offset(2), table.row_at(29), table.row_at(30)) == (60, 30, 1, 2)
    table.measure(1, 25)
    table.insert(1, [5])
    assert [table.offset(row) for row in range(5)] == [0, 10, 15, 40, 70]
    assert table.is_measured(2)
    table.expire(2)
    assert (table.is_measured(2), table.is_guess(2), table.is_guess(3)) == (False, False, True)
    table.remove(0, 1)
    assert (table.total(), len(table)) == (55, 2)
    assert table.rows_between(-100, 1000) == range(0, 2)
    table.reset([])
    assert (table.total(), table.row_at(5), table.rows_between(0, 9)) == (0, 0, range(0))
