"""Enter sends when sending is meant."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QGuiApplication, QInputMethodEvent, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.views.composer import Composer
from app.views.message_edit import MAX_LINES, MAX_PASTED_LINES
from tests.app.conftest import settle

NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def composer(qtbot: QtBot) -> Iterator[Composer]:
    page = QWidget()
    page.resize(600, 500)
    qtbot.addWidget(page)
    composer = Composer(page)
    composer.resize(500, 300)
    page.show()
    page.activateWindow()
    composer.setFocus()
    settle()
    yield composer
    page.close()


def _press(composer: Composer, key: Qt.Key, modifiers: Qt.KeyboardModifier = NONE) -> None:
    QTest.keyClick(composer.edit, key, modifiers)


def test_enter_sends_and_shift_enter_breaks_the_line(qtbot: QtBot, composer: Composer) -> None:
    QTest.keyClicks(composer.edit, "one")
    with qtbot.assertNotEmitted(composer.send_requested):
        _press(composer, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.edit, "two")
    with qtbot.waitSignal(composer.send_requested, timeout=500):
        _press(composer, Qt.Key.Key_Return)
    assert composer.text() == "one\ntwo"


def test_enter_within_a_composition_does_not_send(qtbot: QtBot, composer: Composer) -> None:
    composer.edit.set_text("x")
    QApplication.sendEvent(composer.edit, QInputMethodEvent("にほ", []))
    with qtbot.assertNotEmitted(composer.send_requested):
        _press(composer, Qt.Key.Key_Return)
    commit = QInputMethodEvent("", [])
    commit.setCommitString("日本")
    QApplication.sendEvent(composer.edit, commit)
    with qtbot.waitSignal(composer.send_requested, timeout=500):
        _press(composer, Qt.Key.Key_Return)
    assert "日本" in composer.text()


@pytest.mark.parametrize("text", ["", "   ", "\n\n\t "])
def test_blank_text_is_not_sent(qtbot: QtBot, composer: Composer, text: str) -> None:
    composer.edit.set_text(text)
    assert not composer.button.isEnabled()
    with qtbot.assertNotEmitted(composer.send_requested):
        _press(composer, Qt.Key.Key_Return)


def test_button_stops_while_a_reply_is_written(qtbot: QtBot, composer: Composer) -> None:
    composer.set_running(True)
    assert (composer.button.text(), composer.button.accessibleName()) == ("Stop", "Stop")
    with qtbot.waitSignal(composer.stop_requested, timeout=500):
        composer.button.click()
    composer.edit.set_text("typed meanwhile")
    with qtbot.assertNotEmitted(composer.send_requested):
        _press(composer, Qt.Key.Key_Return)


def test_box_grows_with_its_text_up_to_a_limit(composer: Composer) -> None:
    heights = []
    for n_lines in (1, 2, 3, MAX_LINES, MAX_LINES * 3):
        composer.edit.set_text("\n".join(["line"] * n_lines))
        settle()
        heights.append(composer.edit.height())
    line = composer.edit.fontMetrics().lineSpacing()
    assert [height - heights[0] for height in heights] == [0, line, 2 * line, 9 * line, 9 * line]
    composer.edit.set_text("")
    settle()
    assert composer.edit.height() == heights[0]


def test_box_takes_at_most_a_third_of_the_window(composer: Composer) -> None:
    composer.edit.set_text("line\n" * 30)
    settle()
    composer.window().resize(600, 240)
    settle()
    line = composer.edit.fontMetrics().lineSpacing()
    assert 80 - line < composer.edit.viewport().height() <= 80


def test_box_gives_way_where_there_is_no_room(composer: Composer) -> None:
    composer.edit.set_text("line\n" * 30)
    composer.resize(500, composer.minimumSizeHint().height())
    settle()
    assert composer.edit.geometry().bottom() < composer.attach.geometry().top()
    assert composer.edit.viewport().height() >= composer.edit.fontMetrics().lineSpacing()


def test_text_that_fits_is_shown_from_its_first_line(composer: Composer) -> None:
    composer.edit.set_text("one\ntwo\nthree")
    settle()
    assert composer.edit.verticalScrollBar().value() == 0
    assert composer.edit.cursorRect().bottom() <= composer.edit.viewport().height()


def test_paste_is_plain_and_lands_at_the_cursor(composer: Composer) -> None:
    composer.edit.set_text("before after")
    cursor = composer.edit.textCursor()
    cursor.setPosition(7)
    composer.edit.setTextCursor(cursor)
    data = QMimeData()
    data.setHtml("<b>bold</b>")
    data.setText("bold ")
    composer.edit.insertFromMimeData(data)
    assert composer.text() == "before bold after"
    assert composer.edit.textCursor().position() == len("before bold ")


@pytest.mark.parametrize(
    "pasted",
    ["line of text\n" * 20_000, "many words " * 90_909 + "x", "a" * 1_000_000, "سلام دنیا " * 100_000],
    ids=["20,000 lines", "words", "no spaces", "right to left"],
)
def test_a_large_paste_blocks_nothing_and_can_be_undone(composer: Composer, pasted: str) -> None:
    _type_at_end(composer, "before ")
    assert _seconds(lambda: _paste(composer, pasted)) < 0.5
    assert composer.text() == "before " + pasted
    assert _seconds(lambda: _type_at_end(composer, "!")) < 0.2
    assert _seconds(lambda: composer.edit.moveCursor(QTextCursor.MoveOperation.Start)) < 0.2
    assert _seconds(lambda: QTest.keyClicks(composer.edit, "?")) < 0.2
    assert composer.text() == "?before " + pasted + "!"
    for _ in range(3):
        composer.edit.undo()
    assert composer.text() == "before "


def test_a_long_draft_comes_back_in_time_and_whole(composer: Composer) -> None:
    text = "ab" * 500_000 + "\n" + "line\n" * 20_000
    assert _seconds(lambda: composer.set_text(text)) < 0.5
    assert composer.text() == text


def test_a_long_line_is_copied_without_breaks(composer: Composer) -> None:
    composer.set_text("ab" * 10_000 + "\nend")
    composer.edit.selectAll()
    composer.edit.copy()
    assert QGuiApplication.clipboard().text() == "ab" * 10_000 + "\nend"
    QGuiApplication.clipboard().clear()


def test_typing_where_a_long_line_is_broken_adds_no_break(composer: Composer) -> None:
    composer.set_text("a" * 12_000)
    composer.edit.moveCursor(QTextCursor.MoveOperation.Start)
    composer.edit.moveCursor(QTextCursor.MoveOperation.EndOfBlock)
    QTest.keyClicks(composer.edit, "X")
    assert composer.text() == "a" * 5_000 + "X" + "a" * 7_000


def test_text_beyond_measure_is_offered_instead_of_pasted(qtbot: QtBot, composer: Composer) -> None:
    text = "line\n" * (MAX_PASTED_LINES + 1)
    with qtbot.waitSignal(composer.text_offered, timeout=500) as offered:
        _paste(composer, text)
    assert offered.args == [text]
    assert composer.text() == ""


@pytest.mark.parametrize(
    "text", ["a\u00a0b", "ALPHA\0BETA", "\u202eback", "👨‍👩‍👧‍👦", "\tx  y ", "a\u2028b", "\n\n"]
)
def test_text_stays_character_for_character(composer: Composer, text: str) -> None:
    composer.set_text(text)
    assert composer.text() == text
    composer.set_text("")
    _paste(composer, text)
    assert composer.text() == text


def test_half_a_character_becomes_a_replacement(composer: Composer) -> None:
    composer.set_text("ok \ud83d")
    assert composer.text() == "ok \N{REPLACEMENT CHARACTER}"


def test_each_paragraph_takes_its_own_direction_and_side(composer: Composer) -> None:
    composer.edit.set_text("Hello\nسلام دنیا\nprint('שלום')\nשלום")
    settle()
    middle = composer.edit.viewport().width() / 2
    cursor, starts = composer.edit.textCursor(), []
    for number in range(4):
        cursor.setPosition(composer.edit.document().findBlockByNumber(number).position())
        starts.append("right" if composer.edit.cursorRect(cursor).x() > middle else "left")
    assert starts == ["left", "right", "left", "right"]


def test_up_brings_back_what_was_sent_and_down_the_draft(composer: Composer) -> None:
    composer.set_history(["first", "second\nline"])
    shown = []
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Up):
        _press(composer, key)
        shown.append(composer.text())
    # From the end of a text of two lines, Up goes to its first line.
    assert shown == ["second\nline", "second\nline", "first", "first"]
    _press(composer, Qt.Key.Key_Down)
    assert composer.text() == "second\nline"
    _press(composer, Qt.Key.Key_Down)
    assert composer.text() == ""


def test_up_leaves_a_text_alone_that_was_written(composer: Composer) -> None:
    composer.set_history(["sent"])
    QTest.keyClicks(composer.edit, "mine")
    _press(composer, Qt.Key.Key_Up)
    assert composer.text() == "mine"
    composer.set_text("")
    _press(composer, Qt.Key.Key_Up)
    QTest.keyClicks(composer.edit, "!")
    _press(composer, Qt.Key.Key_Up)
    assert composer.text() == "sent!"


def test_counts_are_words_and_what_is_not_known_is_not_claimed(composer: Composer) -> None:
    assert composer.counts.text() == "n/a"
    composer.show_counts(312, 6900, 6900)
    assert composer.counts.text() == "312 tokens, 6,900 free"
    composer.show_counts(1, None, None)
    assert composer.counts.text() == "1 token, n/a free"


def test_a_message_that_cannot_fit_is_refused_with_both_numbers(qtbot: QtBot, composer: Composer) -> None:
    composer.set_text("far too long")
    composer.show_counts(7512, 6900, 6900)
    assert "7,512" in composer.problem.text()
    assert "6,900" in composer.problem.text()
    assert composer.problem.isVisible()
    assert not composer.button.isEnabled()
    with qtbot.assertNotEmitted(composer.send_requested):
        _press(composer, Qt.Key.Key_Return)
    assert composer.text() == "far too long"
    composer.show_counts(6900, 6900, 6900)
    assert composer.problem.isHidden()
    with qtbot.waitSignal(composer.send_requested, timeout=500):
        _press(composer, Qt.Key.Key_Return)


def test_without_a_count_sending_is_left_to_the_engine(qtbot: QtBot, composer: Composer) -> None:
    composer.set_text("who knows")
    composer.show_counts(None, None, 10)
    with qtbot.waitSignal(composer.send_requested, timeout=500):
        composer.button.click()


def _paste(composer: Composer, text: str) -> None:
    data = QMimeData()
    data.setText(text)
    composer.edit.insertFromMimeData(data)


def _type_at_end(composer: Composer, text: str) -> None:
    composer.edit.moveCursor(QTextCursor.MoveOperation.End)
    QTest.keyClicks(composer.edit, text)


def _seconds(act: Callable[[], object]) -> float:
    """How long the window is busy; the processor's time, since other tests may run beside this one."""
    began = time.process_time()
    act()
    settle()
    return time.process_time() - began


def test_hint_begins_where_the_lines_of_the_window_do(composer: Composer) -> None:
    def inked() -> list[int]:
        settle()
        picture = composer.edit.viewport().grab().toImage()
        ground = picture.pixelColor(picture.width() // 2, picture.height() - 1)
        rows = range(picture.height())
        return [x for x in range(picture.width()) if any(picture.pixelColor(x, y) != ground for y in rows)]

    composer.resize(500, 120)
    composer.edit.clearFocus()
    middle = composer.edit.viewport().width() // 2
    assert max(inked()) < middle
    composer.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    assert min(inked()) > middle
