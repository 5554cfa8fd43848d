"""The left side of the window: the chats, searching them, and the way to the other pages.

The chats' item model and what a search found go in, wishes come out as signals. It folds into a strip of
buttons. It knows nothing about stores; whether a wish is granted shows in the item model.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QBoxLayout, QFrame, QMenu, QSplitter, QToolButton, QVBoxLayout, QWidget

from app.item_models.chat_list_item_model import ChatListItemModel
from app.services.search import SearchResult
from app.views.chat_finder import ChatFinder
from app.views.shortcuts import with_keys
from app.views.sidebar_button import SidebarButton
from app.views.tokens import UNIT

_USUAL, _NARROWEST, _WIDEST = UNIT * 30, UNIT * 20, UNIT * 64
_STRIP = UNIT * 6


class Sidebar(QFrame):
    """Everything that one finds one's way with."""

    new_chat_requested = Signal()
    chat_chosen = Signal(str)
    """The id of the chat to open, as in all signals about one chat."""

    pin_requested = Signal(str, bool)
    options_requested = Signal(str)
    export_requested = Signal(str, str)
    """With "markdown" or "json"."""

    delete_requested = Signal(str)
    """Nobody was asked: deleting can be undone."""

    export_all_requested = Signal(str)
    """With "markdown" or "json"."""

    import_requested = Signal()
    search_requested = Signal(str)
    """What to look for, "" for nothing any more; the answer is awaited in `show_found`."""

    found_chosen = Signal(str, object)
    """The id of a chat to open, and of the message in it to show, None for its title."""

    page_requested = Signal(str)
    """One of "models", "benchmarks", "endurance", "settings" and "shortcuts"."""

    collapsed_changed = Signal(bool)

    def __init__(self, chats: ChatListItemModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self._page: str | None = None
        self._collapsed = False
        self._width = _USUAL
        self.finder = ChatFinder(chats)
        self.list = self.finder.list
        self._make_top()
        self._make_pages()
        self._arrange()
        self._connect()
        self._dress()

    @property
    def collapsed(self) -> bool:
        """Whether only the strip of buttons is shown."""
        return self._collapsed

    def set_collapsed(self, collapsed: bool) -> None:
        """Fold into a strip of buttons, or out to the former width."""
        if collapsed == self._collapsed:
            return
        if collapsed:
            self._width = max(self.width(), _NARROWEST)
        self._collapsed = collapsed
        self._dress()
        self.collapsed_changed.emit(collapsed)

    def toggle_collapsed(self) -> None:
        """Fold, or unfold."""
        self.set_collapsed(not self._collapsed)

    def select(self, chat_id: str | None) -> None:
        """Mark the open chat; None marks none."""
        self.list.mark(chat_id)

    def show_page(self, name: str | None) -> None:
        """Mark the page that stands in place of the chat; None for the chat."""
        self._page = name
        for page, button in self.pages.items():
            button.setChecked(page == name)

    def show_download(self, percent: int | None) -> None:
        """How far the downloads are, on the button of the models; None while there are none."""
        words = self.tr("Models")
        if percent is not None:
            words = self.tr("{0}  {1} %").format(words, percent)
        self.pages["models"].set_words(words)

    def begin_search(self) -> None:
        """Take the keyboard into the search field."""
        self.set_collapsed(False)
        self.finder.begin_search()

    def show_found(self, result: SearchResult) -> None:
        """Show what was found for the newest `search_requested`."""
        self.finder.show_result(result)

    def rename_chosen(self) -> None:
        """Let the user write another title of the chat that is marked."""
        self.set_collapsed(False)
        self.list.rename_chosen()

    def open_neighbour(self, step: int) -> None:
        """Open the chat so many rows below the open one, above it if negative."""
        self.list.open_neighbour(step)

    def sizeHint(self) -> QSize:
        """Wide enough for most titles."""
        return QSize(_STRIP if self._collapsed else self._width, UNIT * 60)

    def _make_top(self) -> None:
        self.fold = SidebarButton("panel", self.tr("Fold the list of chats"), "")
        self.new_chat = SidebarButton(
            "plus", self.tr("New chat"), with_keys(self.tr("Start a new chat"), "new_chat")
        )
        self.new_chat.setObjectName("newChat")
        self.search_button = SidebarButton(
            "search", self.tr("Search"), with_keys(self.tr("Search all chats"), "search")
        )
        self.more = SidebarButton("more", self.tr("More"), self.tr("Export or import chats"))
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.more)
        for words, kind in (
            (self.tr("Export all chats as Markdown \N{HORIZONTAL ELLIPSIS}"), "markdown"),
            (self.tr("Export all chats as JSON \N{HORIZONTAL ELLIPSIS}"), "json"),
        ):
            menu.addAction(words, partial(self.export_all_requested.emit, kind))
        menu.addAction(self.tr("Import chats \N{HORIZONTAL ELLIPSIS}"), self.import_requested.emit)
        self.more.setMenu(menu)

    def _make_pages(self) -> None:
        self.pages = {
            "models": SidebarButton(
                "models", self.tr("Models"), with_keys(self.tr("Choose, find and download models"), "models")
            ),
            "benchmarks": SidebarButton(
                "benchmarks", self.tr("Benchmarks"), self.tr("How fast models are on this computer")
            ),
            "endurance": SidebarButton(
                "endurance", self.tr("Endurance"), self.tr("How the model holds out over a long text")
            ),
            "settings": SidebarButton(
                "settings", self.tr("Settings"), with_keys(self.tr("Change the settings"), "settings")
            ),
            "shortcuts": SidebarButton(
                "keyboard", self.tr("Shortcuts"), with_keys(self.tr("All keys at a glance"), "shortcuts")
            ),
        }
        self.endurance = self.pages["endurance"]
        for name, button in self.pages.items():
            button.setCheckable(True)
            button.clicked.connect(lambda _checked, name=name: self._ask_for(name))

    def _arrange(self) -> None:
        self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._top.setSpacing(UNIT // 2)
        for button in (self.fold, self.new_chat, self.search_button, self.more):
            self._top.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT, UNIT, UNIT, UNIT)
        column.setSpacing(UNIT)
        column.addLayout(self._top)
        column.addWidget(self.finder, 1)
        self._gap = QWidget()
        column.addWidget(self._gap, 1)
        bottom = QVBoxLayout()
        bottom.setSpacing(0)
        for button in self.pages.values():
            bottom.addWidget(button)
        column.addLayout(bottom)

    def _connect(self) -> None:
        self.new_chat.clicked.connect(self.new_chat_requested)
        self.search_button.clicked.connect(self.begin_search)
        self.fold.clicked.connect(self.toggle_collapsed)
        self.list.chat_chosen.connect(self.chat_chosen)
        self.list.pin_requested.connect(self.pin_requested)
        self.list.options_requested.connect(self.options_requested)
        self.list.export_requested.connect(self.export_requested)
        self.list.delete_requested.connect(self.delete_requested)
        self.finder.search_requested.connect(self.search_requested)
        self.finder.found_chosen.connect(self.found_chosen)

    def _ask_for(self, name: str) -> None:
        self.show_page(self._page)  # a click alone marks nothing: the page may not open
        self.page_requested.emit(name)

    def _dress(self) -> None:
        """Arrange everything for the strip, or for the whole width."""
        collapsed = self._collapsed
        words = self.tr("Show the list of chats") if collapsed else self.tr("Fold the list of chats away")
        self.fold.setAccessibleName(words)
        self.fold.setToolTip(with_keys(words, "sidebar"))
        directions = QBoxLayout.Direction
        self._top.setDirection(directions.TopToBottom if collapsed else directions.LeftToRight)
        for button in (self.new_chat, *self.pages.values()):
            button.set_compact(collapsed)
        self.finder.setVisible(not collapsed)
        self._gap.setVisible(collapsed)
        self.search_button.setVisible(collapsed)
        self._take_width()

    def _take_width(self) -> None:
        width = _STRIP if self._collapsed else self._width
        self.setMinimumWidth(width)
        self.setMaximumWidth(_STRIP if self._collapsed else _WIDEST)
        splitter = self.parentWidget()
        if isinstance(splitter, QSplitter):
            splitter.refresh()  # takes the width now; from then on it may be made narrower
        self.setMinimumWidth(min(width, _NARROWEST))
