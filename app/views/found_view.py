"""What a search found, in place of the chats: how many places, the places, or that there are none.

A `SearchResult` goes in, the chosen place comes out. Knows nothing about searching.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListView, QVBoxLayout, QWidget

from app.data.stored_message import Found
from app.item_models.found_item_model import FoundItemModel
from app.services.search import SearchResult
from app.views.announcing import announce
from app.views.chat_list_delegate import TEXT_MARGIN
from app.views.found_delegate import FoundDelegate
from app.views.leading_label import LeadingLabel
from app.views.tokens import UNIT

_LONGEST_QUOTE = 60


class FoundList(QListView):
    """The places. Esc, and Up on the first one, lead back to the field."""

    left = Signal()
    """Esc was pressed."""

    passed_top = Signal()
    """Up was pressed on the first place."""

    def event(self, event: QEvent) -> bool:
        """Esc belongs to the search while its list has the focus."""
        if (
            event.type() is QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave, or move as all lists do."""
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif event.key() == Qt.Key.Key_Up and self.currentIndex().row() <= 0:
            self.passed_top.emit()
        else:
            super().keyPressEvent(event)


class FoundView(QWidget):
    """Shows one search at a time."""

    chosen = Signal(str, object)
    """The id of a chat, and of the message in it that was found, None for its title."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._found = FoundItemModel(self)
        self.count = LeadingLabel()
        self.count.setProperty("muted", True)
        self.count.setWordWrap(True)
        self.count.setContentsMargins(TEXT_MARGIN, 0, UNIT, 0)
        self.list = FoundList()
        self.list.setAccessibleName(self.tr("Search results"))
        self.list.setModel(self._found)
        self.list.setItemDelegate(FoundDelegate(self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.list.setResizeMode(QListView.ResizeMode.Adjust)
        self.list.clicked.connect(self._choose)
        self.list.activated.connect(self._choose)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.count)
        column.addWidget(self.list, 1)
        column.addStretch()

    def begin(self) -> None:
        """A search has begun, nothing is found yet."""
        self._found.set_found(())
        self.count.setText(self.tr("Searching \N{HORIZONTAL ELLIPSIS}"))

    def show_result(self, result: SearchResult) -> None:
        """Show what was found; the best place is chosen."""
        self._found.set_found(result.found)
        self.list.setVisible(bool(result.found))
        self.count.setText(self._words(result))
        announce(self.count, self.count.text())
        if result.found:
            self.list.setCurrentIndex(self._found.index(0))

    def step(self, n_rows: int) -> None:
        """Choose the place so many rows further down, at most the last; up if negative."""
        row = min(max(self.list.currentIndex().row() + n_rows, 0), self._found.rowCount() - 1)
        if found := self._found.found_at(row):
            self.list.setCurrentIndex(self._found.index(row))
            announce(self.list, f"{found.chat.title}: {found.excerpt}")

    def open_chosen(self) -> None:
        """Open the chosen place."""
        self._choose(self.list.currentIndex())

    def _choose(self, index: QModelIndex) -> None:
        found: Found | None = self._found.found_at(index.row())
        if found:
            self.chosen.emit(found.chat.id, found.message_id)

    def _words(self, result: SearchResult) -> str:
        if result.problem:
            return result.problem
        n_found = len(result.found)
        if n_found == 0:
            text = result.text if len(result.text) <= _LONGEST_QUOTE else result.text[:_LONGEST_QUOTE] + "…"
            return self.tr(
                "Nothing found for \N{LEFT DOUBLE QUOTATION MARK}{0}\N{RIGHT DOUBLE QUOTATION MARK}."
                " Try fewer or shorter words."
            ).format(text)
        if result.is_cut:
            return self.tr("The first {0} places").format(n_found)
        return self.tr("1 place") if n_found == 1 else self.tr("{0} places").format(n_found)
