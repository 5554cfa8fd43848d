"""The line in the transcript: where it stands, what it says, and that nothing else moves."""

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.data.stored_message import MessageState, StoredMessage
from app.item_models.sight import Sight
from app.item_models.transcript_item_model import TranscriptItemModel
from app.views.message_view import MessageView
from app.views.sight_line import SightLine
from app.views.theme import apply_theme
from app.views.tokens import current_tokens
from app.views.transcript_view import TranscriptView
from engine.protocol import Role
from tests.app.conftest import settle

_TEXT = "Some words to fill a line or two of the chat, with **bold** and `code`. " * 3


def _message(number: int, text: str = _TEXT, *, pinned: bool = False) -> StoredMessage:
    role = Role.USER if number % 2 == 0 else Role.ASSISTANT
    return StoredMessage(number, "chat", role, text, MessageState.COMPLETE, 0.0, "Model", pinned=pinned)


def _line_at(number: int) -> Sight:
    return Sight(line_at=number, n_unseen=number, n_above=number)


@pytest.fixture
def transcript() -> TranscriptItemModel:
    transcript = TranscriptItemModel()
    transcript.set_messages([_message(number) for number in range(100)])
    return transcript


@pytest.fixture
def view(qtbot: QtBot, transcript: TranscriptItemModel) -> TranscriptView:
    view = TranscriptView(transcript)
    qtbot.addWidget(view)
    view.resize(800, 600)
    view.show()
    settle()
    return view


def _shown(view: TranscriptView) -> list[MessageView]:
    return sorted(view.viewport().findChildren(MessageView), key=lambda child: child.y())


def _view_of(view: TranscriptView, row: int) -> MessageView:
    found = view.message_view(row)
    assert found is not None
    return found


def test_line_stands_between_its_two_messages(transcript: TranscriptItemModel, view: TranscriptView) -> None:
    transcript.set_sight(_line_at(97))
    settle()
    assert view.line.isVisible()
    line = view.line.geometry()
    assert _view_of(view, 96).geometry().bottom() < line.top()
    assert line.bottom() < _view_of(view, 97).y()
    for above, below in itertools.pairwise(_shown(view)):
        assert above.geometry().bottom() < below.y()
        assert above.height() == above.fit(above.width())


def test_line_below_all_messages_has_its_own_place(
    transcript: TranscriptItemModel, view: TranscriptView
) -> None:
    transcript.set_sight(_line_at(100))
    settle()
    assert _view_of(view, 99).geometry().bottom() < view.line.y()
    assert view.line.geometry().bottom() < view.viewport().height()
    transcript.append(_message(100))
    settle()
    assert _view_of(view, 99).geometry().bottom() < view.line.y() < _view_of(view, 100).y()


def test_line_far_away_is_not_shown_and_comes_with_its_message(
    transcript: TranscriptItemModel, view: TranscriptView
) -> None:
    transcript.set_sight(_line_at(10))
    settle()
    assert not view.line.isVisible()
    bar = view.verticalScrollBar()
    for _ in range(200):
        bar.setValue(bar.value() - 300)
        settle()
        if view.line.isVisible():
            break
    assert view.line.geometry().bottom() < _view_of(view, 10).y()


@pytest.mark.parametrize(("before", "after"), [(None, 20), (20, None), (20, 90), (90, 20), (49, 50)])
def test_reader_stays_where_the_line_moves(
    transcript: TranscriptItemModel, view: TranscriptView, before: int | None, after: int | None
) -> None:
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle()
    transcript.set_sight(_line_at(before) if before else Sight())
    settle()
    row = next(message.message.id for message in _shown(view) if message.geometry().bottom() > 0)
    top = _view_of(view, row).y()
    transcript.set_sight(_line_at(after) if after else Sight())
    settle()
    assert _view_of(view, row).y() == top


def test_text_at_the_top_stays_where_the_line_comes_and_goes_right_above_it(
    transcript: TranscriptItemModel, view: TranscriptView
) -> None:
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle()
    row = next(message.message.id for message in _shown(view) if message.geometry().bottom() > 0)
    top = _view_of(view, row).y()
    for sight in (_line_at(row), Sight(), _line_at(row), _line_at(row + 1)):
        transcript.set_sight(sight)
        settle()
        assert _view_of(view, row).y() == top


def test_reader_at_the_end_stays_at_the_end(transcript: TranscriptItemModel, view: TranscriptView) -> None:
    for number in (20, 99, 100, 50):
        transcript.set_sight(_line_at(number))
        settle()
        assert view.is_at_end()


def test_narrower_window_keeps_the_line_in_its_place(
    transcript: TranscriptItemModel, view: TranscriptView
) -> None:
    transcript.set_sight(_line_at(98))
    view.resize(420, 600)
    settle()
    assert _view_of(view, 97).geometry().bottom() < view.line.y()
    assert view.line.geometry().bottom() < _view_of(view, 98).y()


def test_moving_line_lays_no_text_out_anew(transcript: TranscriptItemModel, view: TranscriptView) -> None:
    rendered: list[int] = []
    for child in _shown(view):
        child.body.rendered.connect(lambda child=child: rendered.append(child.message.id))
    transcript.set_sight(_line_at(97))
    settle()
    assert rendered == []


def test_removed_messages_take_the_line_along(transcript: TranscriptItemModel, view: TranscriptView) -> None:
    transcript.set_sight(_line_at(97))
    transcript.show_branch([_message(number) for number in range(95)])
    settle()
    assert _view_of(view, 94).geometry().bottom() < view.line.y()
    for number in range(95, 98):
        transcript.append(_message(number))
    settle()
    assert _view_of(view, 96).geometry().bottom() < view.line.y() < _view_of(view, 97).y()
    transcript.set_messages([_message(1)])
    settle()
    assert not view.line.isVisible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_not_seen_is_dimmed_and_what_is_pinned_is_not(
    qapp: QApplication, transcript: TranscriptItemModel, view: TranscriptView, theme: str
) -> None:
    apply_theme(qapp, theme)
    transcript.update_message(_message(96, pinned=True))
    transcript.set_sight(Sight(line_at=98, n_unseen=97, n_above=98, still_seen=frozenset({96}), partly=98))
    settle()
    tokens = current_tokens()
    colours = [
        _view_of(view, row).body.palette().color(QPalette.ColorRole.Text).name() for row in (96, 97, 98)
    ]
    # Both reach a contrast of 4.5:1 on all backgrounds, see `test_text_stands_out_from_its_background`.
    assert colours == [tokens.text, tokens.muted, tokens.text]
    marks = [_view_of(view, row).mark.text() for row in (96, 97, 98)]
    assert marks == ["pinned, still seen", "", "its beginning is no longer seen"]
    spoken = [_view_of(view, row).body.accessibleDescription() for row in (96, 97, 98, 99)]
    assert spoken == ["pinned, still seen", "not seen by the model", "its beginning is no longer seen", ""]
    transcript.set_sight(Sight())
    settle()
    assert _view_of(view, 97).body.palette().color(QPalette.ColorRole.Text).name() == tokens.text
    apply_theme(qapp, "light")


def test_message_that_comes_into_sight_later_is_dimmed_too(
    transcript: TranscriptItemModel, view: TranscriptView
) -> None:
    transcript.set_sight(_line_at(98))
    view.verticalScrollBar().setValue(0)
    settle()
    colour = _view_of(view, 0).body.palette().color(QPalette.ColorRole.Text).name()
    assert colour == current_tokens().muted


@pytest.mark.parametrize(
    ("sight", "sentence"),
    [
        (_line_at(14), "the model no longer sees the 14 messages above"),
        (_line_at(1), "the model no longer sees the message above"),
        (Sight(9, 1200, 1202), "the model no longer sees 1,200 of the 1,202 messages above"),
        (
            Sight(9, 3, 3, is_forecast=True),
            "with your next message, the model will not see the 3 messages above",
        ),
    ],
)
def test_line_says_what_is_not_seen(qtbot: QtBot, sight: Sight, sentence: str) -> None:
    line = SightLine()
    qtbot.addWidget(line)
    line.show_sight(sight)
    assert line.accessibleName() == sentence
    assert line.text().startswith(sentence)


@pytest.mark.parametrize("is_forecast", [False, True])
def test_line_promises_no_memory_of_what_is_gone(qtbot: QtBot, is_forecast: bool) -> None:
    line = SightLine()
    qtbot.addWidget(line)
    line.show_sight(Sight(9, 3, 3, is_forecast=is_forecast))
    for text in (line.toolTip(), line.accessibleDescription()):
        assert "nothing of these 3 messages" in text
        assert "it is guessing" in text
        assert "pin its message or write it again" in text
        assert not any(word in text for word in ("remember", "summary", "recall", "vague"))


def test_line_can_be_reached_by_keyboard(transcript: TranscriptItemModel, view: TranscriptView) -> None:
    transcript.set_sight(_line_at(97))
    settle()
    view.activateWindow()
    _view_of(view, 96).tab_stops()[-2].setFocus()
    QTest.keyClick(view.window().focusWidget() or view, Qt.Key.Key_Tab)
    assert view.window().focusWidget() is view.line
