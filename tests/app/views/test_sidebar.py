"""The chat list under the hands: keys, the menu, renaming, folding, the other pages."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QListView, QMenu, QSplitter, QWidget
from pytestqt.qtbot import QtBot

from app.data.stored_message import ChatSummary
from app.item_models.chat_list_item_model import ChatListItemModel
from app.views.sidebar import Sidebar
from app.views.theme import apply_theme

# The offscreen platform knows no size hints, and cannot raise a window.
pytestmark = pytest.mark.qt_log_ignore("does not support")

DAY = 86400.0


class Bench:
    """A sidebar in a window, and what it wished for."""

    def __init__(self, qtbot: QtBot) -> None:
        now = time.time()
        self.chats = ChatListItemModel()
        self.chats.set_chats(
            [
                ChatSummary("a", "Trip to Yazd", now, now),
                ChatSummary("b", "Tax & <b>money</b>", now - 40 * DAY, now - 40 * DAY, True),
                ChatSummary("c", "", now - 40 * DAY, now - 40 * DAY),
            ]
        )
        self.splitter = QSplitter()
        qtbot.addWidget(self.splitter)
        self.sidebar = Sidebar(self.chats)
        self.main = QLineEdit()
        self.splitter.addWidget(self.sidebar)
        self.splitter.addWidget(self.main)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.resize(900, 600)
        self.splitter.setSizes([230, 670])
        self.splitter.show()
        self.splitter.activateWindow()
        self.list = self.sidebar.list
        self.wishes: list[tuple[object, ...]] = []
        for name in (
            *("chat_chosen", "pin_requested", "options_requested", "export_requested", "delete_requested"),
            *("export_all_requested", "import_requested", "page_requested", "new_chat_requested"),
        ):
            getattr(self.sidebar, name).connect(self._noting(name))

    def _noting(self, name: str) -> Callable[..., None]:
        return lambda *values: self.wishes.append((name, *values))

    def row(self, chat_id: str) -> QPoint:
        row = self.list.model().row_of(chat_id)  # type: ignore[attr-defined]
        return self.list.visualRect(self.list.model().index(row, 0)).center()

    def menu(self) -> QMenu:
        [menu] = [menu for menu in self.list.findChildren(QMenu) if menu.isVisible()]
        return menu


@pytest.fixture
def bench(qtbot: QtBot) -> Bench:
    return Bench(qtbot)


def _current(view: QListView) -> str:
    return str(view.currentIndex().data())


def test_click_opens_a_chat_and_a_heading_does_nothing(bench: Bench) -> None:
    QTest.mouseClick(bench.list.viewport(), Qt.MouseButton.LeftButton, pos=bench.row("a"))
    heading = bench.list.visualRect(bench.list.model().index(0, 0)).center()
    QTest.mouseClick(bench.list.viewport(), Qt.MouseButton.LeftButton, pos=heading)
    assert bench.wishes == [("chat_chosen", "a")]


def test_arrows_home_and_end_skip_the_headings(bench: Bench) -> None:
    bench.sidebar.select("a")
    bench.list.setFocus()
    path = []
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_End, Qt.Key.Key_Home, Qt.Key.Key_End):
        QTest.keyClick(bench.list, key)
        path.append(_current(bench.list))
    assert path == ["Tax & <b>money</b>", "Tax & <b>money</b>", "New chat", "Tax & <b>money</b>", "New chat"]
    QTest.keyClick(bench.list, Qt.Key.Key_Return)
    assert bench.wishes == [("chat_chosen", "c")]


def test_leaving_the_list_marks_the_open_chat_again(bench: Bench) -> None:
    bench.sidebar.select("a")
    bench.list.setFocus()
    QTest.keyClick(bench.list, Qt.Key.Key_Down)
    assert _current(bench.list) == "New chat"
    bench.main.setFocus()
    assert _current(bench.list) == "Trip to Yazd"


def test_delete_key_acts_in_the_list_only_and_asks_nobody(bench: Bench) -> None:
    bench.sidebar.select("a")
    bench.main.setFocus()
    QTest.keyClick(bench.main, Qt.Key.Key_Delete)
    assert bench.wishes == []
    bench.list.setFocus()
    QTest.keyClick(bench.list, Qt.Key.Key_Delete)
    assert bench.wishes == [("delete_requested", "a")]


def test_f2_renames_in_place(bench: Bench, qtbot: QtBot) -> None:
    bench.sidebar.select("b")
    bench.list.setFocus()
    QTest.keyClick(bench.list, Qt.Key.Key_F2)
    editor = bench.list.findChild(QLineEdit)
    assert editor is not None
    assert editor.text() == "Tax & <b>money</b>"
    QTest.keyClicks(editor, "Money")
    with qtbot.waitSignal(bench.chats.rename_requested, timeout=500) as asked:
        QTest.keyClick(editor, Qt.Key.Key_Return)
    assert asked.args == ["b", "Money"]


def test_renaming_goes_on_while_the_row_moves(bench: Bench, qtbot: QtBot) -> None:
    bench.sidebar.select("c")
    bench.sidebar.rename_chosen()
    editor = bench.list.findChild(QLineEdit)
    assert editor is not None
    QTest.keyClicks(editor, "Moved")
    now = time.time()
    bench.chats.put_first(ChatSummary("c", "", now, now))
    with qtbot.waitSignal(bench.chats.rename_requested, timeout=500) as asked:
        QTest.keyClick(editor, Qt.Key.Key_Return)
    assert asked.args == ["c", "Moved"]


def test_menu_of_the_chat_under_the_mouse_leaves_the_mark_alone(bench: Bench) -> None:
    bench.sidebar.select("a")
    viewport, place = bench.list.viewport(), bench.row("b")
    QTest.mouseClick(viewport, Qt.MouseButton.RightButton, pos=place)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, viewport.mapToGlobal(place))
    QApplication.sendEvent(viewport, event)
    assert _current(bench.list) == "Trip to Yazd"
    actions = {action.text(): action for action in bench.menu().actions() if not action.isSeparator()}
    names = ["Open", "Rename", "Unpin", "Chat options …", "Export", "Delete"]
    assert list(actions) == names
    bench.chats.remove("c")  # rows move while the menu is open
    for name in ("Open", "Unpin", "Chat options …", "Delete"):
        actions[name].trigger()
    export = actions["Export"].menu()
    assert isinstance(export, QMenu)
    for action in export.actions():
        action.trigger()
    assert bench.wishes == [
        ("chat_chosen", "b"),
        ("pin_requested", "b", False),
        ("options_requested", "b"),
        ("delete_requested", "b"),
        ("export_requested", "b", "markdown"),
        ("export_requested", "b", "json"),
    ]


@pytest.mark.parametrize("by", ["menu key", "Shift+F10", "event"])
def test_keyboard_opens_the_menu_at_the_chosen_chat(bench: Bench, by: str) -> None:
    bench.sidebar.select("a")
    bench.list.setFocus()
    if by == "menu key":
        QTest.keyClick(bench.list, Qt.Key.Key_Menu)
    elif by == "Shift+F10":
        QTest.keyClick(bench.list, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
    else:
        middle = bench.list.viewport().rect().bottomRight()
        event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, middle, middle)
        QApplication.sendEvent(bench.list.viewport(), event)
    menu = bench.menu()
    assert bench.list.visualRect(bench.list.currentIndex()).contains(
        bench.list.viewport().mapFromGlobal(menu.pos())
    )
    next(action for action in menu.actions() if action.text() == "Pin to the top").trigger()
    assert bench.wishes == [("pin_requested", "a", True)]


def test_neighbours_are_opened_in_the_order_shown_and_the_ends_meet(bench: Bench) -> None:
    bench.sidebar.select("a")
    for step in (1, -1):
        bench.sidebar.open_neighbour(step)
    bench.sidebar.select("c")
    bench.sidebar.open_neighbour(1)
    bench.sidebar.select(None)
    bench.sidebar.open_neighbour(1)
    bench.sidebar.open_neighbour(-1)
    assert [wish[1] for wish in bench.wishes] == ["c", "b", "b", "b", "c"]
    bench.chats.set_chats([])
    bench.sidebar.open_neighbour(1)
    assert len(bench.wishes) == 5


def test_titles_are_text_in_tool_tips_too(bench: Bench) -> None:
    row = bench.list.model().row_of("b")  # type: ignore[attr-defined]
    tip = bench.list.model().index(row, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert "Tax &amp; &lt;b&gt;money&lt;/b&gt;" in tip


def test_new_theme_draws_the_icons_anew(bench: Bench, qapp: QApplication) -> None:
    apply_theme(qapp, "light")
    pictures = [bench.sidebar.fold.icon().pixmap(18, 18).toImage()]
    apply_theme(qapp, "dark")
    pictures.append(bench.sidebar.fold.icon().pixmap(18, 18).toImage())
    apply_theme(qapp, "light")
    assert pictures[0] != pictures[1] != bench.sidebar.fold.icon().pixmap(18, 18).toImage()


def test_empty_list_says_what_will_be_there(bench: Bench) -> None:
    bench.chats.set_chats([])
    assert bench.sidebar.finder.none_yet.isVisible()
    assert not bench.list.isVisible()
    bench.chats.put_first(ChatSummary("a", "A", 0.0, 0.0))
    assert bench.list.isVisible()


def test_pages_are_asked_for_and_marked_by_whoever_shows_them(bench: Bench) -> None:
    for button in bench.sidebar.pages.values():
        button.click()
    names = ("models", "benchmarks", "endurance", "settings", "shortcuts")
    assert bench.wishes == [("page_requested", name) for name in names]
    assert not any(button.isChecked() for button in bench.sidebar.pages.values())
    bench.sidebar.show_page("settings")
    bench.sidebar.pages["endurance"].click()
    checked = [name for name, button in bench.sidebar.pages.items() if button.isChecked()]
    assert checked == ["settings"]
    bench.sidebar.show_page(None)
    assert not bench.sidebar.pages["settings"].isChecked()


def test_all_chats_are_exported_and_imported_from_one_menu(bench: Bench) -> None:
    menu = bench.sidebar.more.menu()
    assert menu is not None
    for action in menu.actions():
        action.trigger()
    assert bench.wishes == [
        ("export_all_requested", "markdown"),
        ("export_all_requested", "json"),
        ("import_requested",),
    ]


def test_folded_sidebar_keeps_its_buttons_and_its_width(bench: Bench, qtbot: QtBot) -> None:
    bench.splitter.setSizes([300, 600])
    width = bench.sidebar.width()
    with qtbot.waitSignal(bench.sidebar.collapsed_changed, timeout=500) as changed:
        bench.sidebar.toggle_collapsed()
    assert changed.args == [True]
    assert bench.sidebar.width() < 60
    assert not bench.sidebar.finder.isVisible()
    bench.sidebar.new_chat.click()
    assert bench.wishes == [("new_chat_requested",)]
    bench.sidebar.toggle_collapsed()
    assert (bench.sidebar.collapsed, bench.sidebar.width()) == (False, width)
    bench.splitter.setSizes([200, 700])
    assert bench.sidebar.width() < width - 50, "it may be made narrower again"


def test_searching_unfolds_the_sidebar(bench: Bench) -> None:
    bench.sidebar.set_collapsed(True)
    bench.sidebar.begin_search()
    assert bench.sidebar.finder.field.hasFocus()
    assert not bench.sidebar.collapsed


def test_five_thousand_chats_scroll_fluently(qtbot: QtBot) -> None:
    chats = ChatListItemModel()
    now = time.time()
    chats.set_chats([ChatSummary(str(n), f"Chat {n}", now, now - n * 7200.0) for n in range(5000)])
    sidebar = Sidebar(chats)
    qtbot.addWidget(sidebar)
    sidebar.resize(230, 800)
    sidebar.show()
    QApplication.processEvents()
    bar = sidebar.list.verticalScrollBar()
    longest = 0.0
    for place in range(0, bar.maximum(), max(bar.maximum() // 40, 1)):
        before = time.perf_counter()
        bar.setValue(place)
        QWidget.repaint(sidebar.list.viewport())
        longest = max(longest, time.perf_counter() - before)
    assert longest < 0.1
