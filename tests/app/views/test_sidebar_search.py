"""The search field and what was found, with the hands on the keyboard."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QKeySequence, QPainter, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.data.stored_message import ChatSummary, Found
from app.item_models.chat_list_item_model import ChatListItemModel
from app.services.search import SearchResult
from app.views.chat_finder import ChatFinder
from app.views.marked_text import draw_marked, lead_in

# The offscreen platform knows no size hints, and cannot raise a window.
pytestmark = pytest.mark.qt_log_ignore("does not support")

CHAT = ChatSummary("a", "Trip to Yazd", 1e9, 1e9)
OTHER = ChatSummary("b", "Other", 1e9, 1e9)
RESULT = SearchResult(
    "yazd",
    (
        Found(CHAT, None, "Trip to Yazd", ((8, 12),)),
        Found(OTHER, 7, "On to Yazd by train", ((6, 10),)),
        Found(OTHER, 9, "Yazd again", ((0, 4),)),
    ),
)


class Window(QWidget):
    """A finder beside a field, with an Esc of the window's own."""

    def __init__(self, qtbot: QtBot) -> None:
        super().__init__()
        qtbot.addWidget(self)
        self.chats = ChatListItemModel()
        self.chats.set_chats([CHAT, OTHER])
        self.finder = ChatFinder(self.chats)
        self.message = QLineEdit()
        self.searched: list[str] = []
        self.chosen: list[tuple[str, int | None]] = []
        self.escapes = 0
        column = QVBoxLayout(self)
        column.addWidget(self.finder)
        column.addWidget(self.message)
        QShortcut(QKeySequence("Esc"), self, self._escape)
        self.finder.search_requested.connect(self.searched.append)
        self.finder.found_chosen.connect(lambda chat, message: self.chosen.append((chat, message)))
        self.resize(300, 500)
        self.show()
        self.activateWindow()

    def _escape(self) -> None:
        self.escapes += 1


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    return Window(qtbot)


def _search(window: Window, text: str = "yazd") -> None:
    window.message.setFocus()
    window.finder.begin_search()
    QTest.keyClicks(window.finder.field, text)


def test_results_stand_in_place_of_the_list_while_there_is_text(window: Window) -> None:
    _search(window)
    assert window.searched == ["y", "ya", "yaz", "yazd"]
    assert not window.finder.list.isVisible()
    window.finder.show_result(RESULT)
    assert window.finder.found.count.text() == "3 places"
    window.finder.field.clear()
    assert window.finder.list.isVisible()
    assert window.searched[-1] == ""


def test_answer_to_a_former_text_is_not_shown(window: Window) -> None:
    _search(window, "yazd now")
    window.finder.show_result(RESULT)
    assert window.finder.found.count.text() == "Searching …"


def test_escape_clears_and_gives_the_keyboard_back(window: Window) -> None:
    _search(window)
    QTest.keyClick(window.finder.field, Qt.Key.Key_Escape)
    assert window.finder.field.text() == ""
    assert window.message.hasFocus()
    assert window.escapes == 0, "nothing else acts on it"
    QTest.keyClick(window.message, Qt.Key.Key_Escape)
    assert window.escapes == 1


def test_enter_opens_the_message_that_the_arrows_chose(window: Window) -> None:
    _search(window)
    window.finder.show_result(RESULT)
    QTest.keyClick(window.finder.field, Qt.Key.Key_Return)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_PageDown, Qt.Key.Key_Return):
        QTest.keyClick(window.finder.field, key)
    assert window.chosen == [("a", None), ("b", 7), ("b", 9)]
    assert window.finder.field.text() == "yazd", "the next place is one key away"


def test_enter_before_the_answer_opens_the_best_place_when_it_comes(window: Window) -> None:
    _search(window)
    QTest.keyClick(window.finder.field, Qt.Key.Key_Return)
    assert window.chosen == []
    window.finder.show_result(RESULT)
    assert window.chosen == [("a", None)]


def test_typing_on_takes_the_enter_back(window: Window) -> None:
    _search(window, "yaz")
    QTest.keyClick(window.finder.field, Qt.Key.Key_Return)
    QTest.keyClicks(window.finder.field, "d")
    window.finder.show_result(RESULT)
    assert window.chosen == []


def test_list_of_results_is_left_upwards_and_by_escape(window: Window) -> None:
    _search(window)
    window.finder.show_result(RESULT)
    found = window.finder.found.list
    found.setFocus()
    QTest.keyClick(found, Qt.Key.Key_Down)
    QTest.keyClick(found, Qt.Key.Key_Return)
    assert window.chosen == [("b", 7)]
    QTest.keyClick(found, Qt.Key.Key_Up)
    assert found.hasFocus()
    QTest.keyClick(found, Qt.Key.Key_Up)
    assert window.finder.field.hasFocus()
    found.setFocus()
    QTest.keyClick(found, Qt.Key.Key_Escape)
    assert (window.finder.field.text(), window.escapes) == ("", 0)
    assert not found.isVisible()


def test_click_opens_a_place(window: Window) -> None:
    _search(window)
    window.finder.show_result(RESULT)
    found = window.finder.found.list
    place = found.visualRect(found.model().index(2, 0)).center()
    QTest.mouseClick(found.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert window.chosen == [("b", 9)]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (SearchResult("qwertz"), "Nothing found for “qwertz”. Try fewer or shorter words."),
        (SearchResult("qwertz", RESULT.found[:1]), "1 place"),
        (SearchResult("qwertz", RESULT.found, is_cut=True), "The first 3 places"),
        (SearchResult("qwertz", problem="The disk is gone."), "The disk is gone."),
    ],
)
def test_outcome_is_told_in_words(window: Window, result: SearchResult, words: str) -> None:
    _search(window, "qwertz")
    window.finder.show_result(result)
    assert window.finder.found.count.text() == words
    assert window.finder.found.list.isVisible() == bool(result.found)


def test_deleted_chat_is_looked_for_again(window: Window) -> None:
    _search(window)
    window.searched.clear()
    window.chats.remove("a")
    assert window.searched == ["yazd"]
    window.finder.field.clear()
    window.searched.clear()
    window.chats.remove("b")
    assert window.searched == []


def test_results_are_read_out_with_their_excerpts(window: Window) -> None:
    _search(window)
    window.finder.show_result(RESULT)
    model = window.finder.found.list.model()
    said = [model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole) for row in (0, 1)]
    assert said == [None, "Other: On to Yazd by train"]
    assert model.index(0, 0).data() == "Trip to Yazd"


def test_excerpt_begins_shortly_before_the_match_at_a_word() -> None:
    text = "one two three four five six seven eight nine ten Yazd and on"
    shown, marks = lead_in(text, ((49, 53), (54, 57)))
    assert shown == "…seven eight nine ten Yazd and on"
    assert [shown[start:end] for start, end in marks] == ["Yazd", "and"]
    assert lead_in("short Yazd", ((6, 10),)) == ("short Yazd", ((6, 10),))


def test_mark_stands_on_its_letters_behind_an_emoji(window: Window) -> None:
    def picture(text: str, marks: tuple[tuple[int, int], ...]) -> QImage:
        image = QImage(400, 40, QImage.Format.Format_RGB32)
        image.fill(Qt.GlobalColor.white)
        painter = QPainter(image)
        draw_marked(painter, image.rect().toRectF(), window.font(), text, marks)
        painter.end()
        return image

    assert picture("👍👍 Yazd", ((3, 7),)) != picture("👍👍 Yazd", ((1, 5),))
    assert picture("👍👍 Yazd", ((3, 7),)) == picture("👍👍 Yazd", ((3, 99),)), "it ends with the text"
