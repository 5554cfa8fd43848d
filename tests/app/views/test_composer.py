"""Enter sends when sending is meant."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QFont, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.views.composer import MAX_LINES, Composer
from tests.app.conftest import settle

NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def composer(qtbot: QtBot) -> Iterator[Composer]:
    page = QWidget()
    page.resize(600, 500)
    qtbot.addWidget(page)
    composer = Composer(page)
    composer.resize(500, 200)
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
    assert heights[0] < heights[1] < heights[2] < heights[3]
    assert heights[4] <= heights[3] + 2
    composer.edit.set_text("")
    settle()
    assert composer.edit.height() == heights[0]


def test_paste_is_plain_and_long_ones_land_at_the_cursor(composer: Composer) -> None:
    composer.edit.set_text("before after")
    cursor = composer.edit.textCursor()
    cursor.setPosition(7)
    composer.edit.setTextCursor(cursor)
    data = QMimeData()
    data.setHtml("<b>bold</b>")
    data.setText("bold ")
    composer.edit.insertFromMimeData(data)
    assert composer.text() == "before bold after"
    assert composer.edit.document().find("bold").charFormat().fontWeight() == QFont.Weight.Normal
    long_text = "line\n" * 20_000
    data.setText(long_text)
    began = time.perf_counter()
    composer.edit.insertFromMimeData(data)
    settle()
    assert time.perf_counter() - began < 1.0
    assert composer.text() == "before bold " + long_text + "after"
    assert composer.edit.textCursor().position() == 12 + len(long_text)


def test_each_paragraph_takes_its_own_direction(composer: Composer) -> None:
    composer.edit.set_text("سلام دنیا\nHello")
    first = composer.edit.document().firstBlock()
    assert first.textDirection() == Qt.LayoutDirection.RightToLeft
    assert first.next().textDirection() == Qt.LayoutDirection.LeftToRight
