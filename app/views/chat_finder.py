"""The chats under their field: the list, or what was found while something stands in the field.

The chats' item model and search results go in; what to look for and what was chosen come out. Promises:
Esc empties the field, shows the list and gives the keyboard back to where it was; Enter opens the best
place even if it is pressed before that is found. Knows nothing about how chats are searched.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QStackedWidget, QVBoxLayout, QWidget

from app.item_models.chat_list_item_model import ChatListItemModel
from app.item_models.grouped_chats_item_model import GroupedChatsItemModel
from app.services.search import SearchResult
from app.views.chat_list_delegate import TEXT_MARGIN
from app.views.chat_list_view import ChatListView
from app.views.focus_return import FocusReturn
from app.views.found_view import FoundView
from app.views.search_field import SearchField
from app.views.tokens import UNIT


class ChatFinder(QWidget):
    """The field and what stands below it."""

    search_requested = Signal(str)
    """What to look for, "" for nothing any more; the answer is awaited in `show_result`."""

    found_chosen = Signal(str, object)
    """The id of a chat to open, and of the message in it to show, None for its title."""

    def __init__(self, chats: ChatListItemModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chats = chats
        self._return = FocusReturn()
        self._shown_for = ""
        self._opens_first = False
        self.field = SearchField()
        self.list = ChatListView(GroupedChatsItemModel(chats, self))
        self.none_yet = QLabel(self.tr("Your chats will be listed here."))
        self.none_yet.setProperty("muted", True)
        self.none_yet.setWordWrap(True)
        self.none_yet.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeading)
        self.none_yet.setContentsMargins(TEXT_MARGIN, UNIT, UNIT, 0)
        self.found = FoundView()
        self._pages = QStackedWidget()
        for page in (self.list, self.none_yet, self.found):
            self._pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.field)
        column.addWidget(self._pages, 1)
        self._connect()
        self._choose_page()

    def begin_search(self) -> None:
        """Take the keyboard into the field, with what stands there selected."""
        self._return.remember(self)
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def show_result(self, result: SearchResult) -> None:
        """Show what was found, if it is still being looked for."""
        if result.text != self._text():
            return
        self._shown_for = result.text
        self.found.show_result(result)
        if self._opens_first:
            self._opens_first = False
            self.found.open_chosen()

    def _connect(self) -> None:
        self.field.textChanged.connect(self._look)
        self.field.left.connect(self._end_search)
        self.field.stepped.connect(self.found.step)
        self.field.confirmed.connect(self._open_best)
        self.found.list.left.connect(self.field.clear)
        self.found.list.left.connect(self._end_search)
        self.found.list.passed_top.connect(self.field.setFocus)
        self.found.chosen.connect(self._return.forget)
        self.found.chosen.connect(self.found_chosen)
        for signal in (self._chats.modelReset, self._chats.rowsInserted, self._chats.rowsRemoved):
            signal.connect(self._choose_page)
        for signal in (self._chats.modelReset, self._chats.rowsRemoved):
            signal.connect(self._look_again)

    def _text(self) -> str:
        return self.field.text().strip()

    def _look(self) -> None:
        self._opens_first = False
        if self._text() and self._pages.currentWidget() is not self.found:
            self.found.begin()
        self._choose_page()
        self.search_requested.emit(self._text())

    def _look_again(self) -> None:
        """Nothing that is gone may be offered."""
        if self._text():
            self.search_requested.emit(self._text())

    def _end_search(self) -> None:
        if not self._return.give_back():
            self.list.setFocus()

    def _open_best(self) -> None:
        if self._text() and self._shown_for == self._text():
            self.found.open_chosen()
        else:
            self._opens_first = bool(self._text())

    def _choose_page(self) -> None:
        if self._text():
            self._pages.setCurrentWidget(self.found)
        else:
            self._shown_for = ""
            self._pages.setCurrentWidget(self.list if self._chats.rowCount() else self.none_yet)
