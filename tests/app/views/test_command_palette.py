"""The command palette: quick, by keyboard alone, and out of the way afterwards."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.data.stored_message import ChatSummary
from app.item_models.palette_item_model import PaletteCommand
from app.views.command_palette import CommandPalette

# The offscreen platform knows no size hints, and cannot raise a window.
pytestmark = pytest.mark.qt_log_ignore("does not support")

COMMANDS = (
    PaletteCommand("new", "New chat", "Ctrl+N"),
    PaletteCommand("again", "Write the reply again", unavailable_because="There is no reply yet"),
    PaletteCommand("quit", "Quit", "Ctrl+Q"),
)
CHATS = tuple(ChatSummary(str(number), f"Chat about {number}", 0.0, 0.0) for number in range(2000))


class Window(QWidget):
    """A window with two fields and a palette."""

    def __init__(self, qtbot: QtBot) -> None:
        super().__init__()
        qtbot.addWidget(self)
        self.message, self.other = QLineEdit(), QLineEdit()
        column = QVBoxLayout(self)
        column.addWidget(self.message)
        column.addWidget(self.other)
        self.escapes: list[str] = []
        QShortcut(QKeySequence("Esc"), self, lambda: self.escapes.append("Esc"))
        self.palette_ = CommandPalette(self)
        self.chosen: list[str] = []
        self.palette_.command_chosen.connect(self.chosen.append)
        self.palette_.chat_chosen.connect(self.chosen.append)
        self.resize(900, 600)
        self.show()
        self.activateWindow()
        self.message.setFocus()


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    return Window(qtbot)


@pytest.fixture
def opened(window: Window) -> CommandPalette:
    window.palette_.open(COMMANDS, CHATS)
    return window.palette_


def _press(palette: CommandPalette, *keys: Qt.Key) -> None:
    for key in keys:
        QTest.keyClick(palette.field, key)


def test_letters_and_enter_choose_a_command(window: Window, opened: CommandPalette) -> None:
    QTest.keyClicks(opened.field, "qu")
    _press(opened, Qt.Key.Key_Return)
    assert window.chosen == ["quit"]
    assert not opened.isVisible()
    assert window.message.hasFocus()


def test_focus_is_back_before_the_command_acts(window: Window, opened: CommandPalette) -> None:
    opened.command_chosen.connect(lambda _id: window.other.setFocus())
    _press(opened, Qt.Key.Key_Return)
    assert window.other.hasFocus()


def test_arrows_walk_and_the_ends_meet(window: Window, opened: CommandPalette) -> None:
    rows = []
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageDown):
        _press(opened, key)
        rows.append(opened.list.currentIndex().row())
    assert rows == [1, 0, 10, 0, 10]
    _press(opened, Qt.Key.Key_Enter)
    assert window.chosen == ["7"], "the eighth of the chats, which are there before anything is typed"


def test_escape_gives_the_keyboard_back_and_reaches_nobody_else(
    window: Window, opened: CommandPalette
) -> None:
    QTest.keyClicks(opened.field, "new")
    _press(opened, Qt.Key.Key_Escape)
    assert not opened.isVisible()
    assert window.message.hasFocus()
    assert window.chosen == window.escapes == []
    opened.open(COMMANDS, CHATS)
    assert opened.field.text() == "", "each time from the beginning"


def test_command_that_cannot_be_done_is_shown_and_not_chosen(window: Window, opened: CommandPalette) -> None:
    QTest.keyClicks(opened.field, "reply again")
    assert opened.list.currentIndex().data() == "Write the reply again"
    _press(opened, Qt.Key.Key_Return)
    assert window.chosen == []
    assert opened.isVisible()


def test_nothing_that_fits_is_said(window: Window, opened: CommandPalette) -> None:
    QTest.keyClicks(opened.field, "zzzzqq")
    assert opened.none_fits.isVisible()
    assert not opened.list.isVisible()
    _press(opened, Qt.Key.Key_Return, Qt.Key.Key_Down)
    assert window.chosen == []
    opened.field.clear()
    assert opened.list.isVisible()


def test_click_chooses_and_a_click_beside_it_closes(window: Window, opened: CommandPalette) -> None:
    place = opened.list.visualRect(opened.list.model().index(2, 0)).center()
    QTest.mouseClick(opened.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert window.chosen == ["quit"]
    opened.open(COMMANDS, CHATS)
    QTest.mouseClick(opened, Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
    assert not opened.isVisible()
    assert window.message.hasFocus()


def test_keyboard_that_goes_elsewhere_stays_there(window: Window, opened: CommandPalette) -> None:
    window.other.setFocus()
    assert not opened.isVisible()
    assert window.other.hasFocus()


def test_tab_stays_in_the_palette(window: Window, opened: CommandPalette) -> None:
    _press(opened, Qt.Key.Key_Tab)
    assert opened.field.hasFocus()
    assert opened.isVisible()


@pytest.mark.parametrize("size", [(900, 600), (480, 320)])
def test_it_stands_inside_the_window(window: Window, opened: CommandPalette, size: tuple[int, int]) -> None:
    window.resize(*size)
    QApplication.processEvents()
    assert opened.size() == window.size()
    assert opened.rect().contains(opened.panel.geometry())
    assert abs(opened.panel.geometry().center().x() - opened.rect().center().x()) <= 1


def test_it_opens_and_answers_quickly_with_two_thousand_chats(window: Window) -> None:
    quickest = []
    for text in ("", "a", "chat 19", "caht"):
        before = time.perf_counter()
        window.palette_.open(COMMANDS, CHATS)
        window.palette_.field.setText(text)
        QApplication.processEvents()
        quickest.append(time.perf_counter() - before)
        window.palette_.close_palette()
    assert min(quickest) < 0.05
    assert max(quickest) < 0.25


def test_everything_has_a_name(opened: CommandPalette) -> None:
    assert all(part.accessibleName() for part in (opened.panel, opened.field, opened.list))
