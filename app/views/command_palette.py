"""The command palette: a field over the window that finds commands and chats by a few letters.

Commands and chats go in when it opens; the id of the chosen one comes out, after the palette is gone.
Promises: the keyboard is where it was before when nothing was chosen; a click beside it, or anything that
takes the keyboard elsewhere, closes it. Knows nothing about what commands do.
"""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLabel,
    QLineEdit,
    QListView,
    QVBoxLayout,
    QWidget,
)

from app.data.stored_message import ChatSummary
from app.item_models.palette_item_model import PaletteCommand, PaletteItemModel
from app.views.announcing import announce
from app.views.focus_return import FocusReturn
from app.views.palette_delegate import PaletteDelegate
from app.views.tokens import UNIT

N_ROWS = 10
"""How many rows are seen at once."""

_WIDTH = UNIT * 72
_SHADE = QColor(0, 0, 0, 70)
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: N_ROWS, Qt.Key.Key_PageUp: -N_ROWS}


class CommandPalette(QWidget):
    """Covers its parent with a shade, and stands in the upper half of it."""

    command_chosen = Signal(str)
    """The id of a `PaletteCommand`."""

    chat_chosen = Signal(str)
    """The id of a chat to open."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._covered = parent
        self._return = FocusReturn()
        self._offers = PaletteItemModel(self)
        self.panel = QFrame(self)
        self.panel.setObjectName("palette")
        self.panel.setAccessibleName(self.tr("Command palette"))
        self.field = QLineEdit()
        self.field.setPlaceholderText(self.tr("Find a command or chat"))
        self.field.setAccessibleName(self.tr("Find a command or chat"))
        self.list = QListView()
        self.none_fits = QLabel(self.tr("Nothing fits. Try fewer letters."))
        self._arrange()
        self.field.textChanged.connect(self._find)
        self.field.installEventFilter(self)
        self.list.clicked.connect(self._choose)
        parent.installEventFilter(self)
        QApplication.instance().focusChanged.connect(self._on_focus_changed)  # type: ignore[union-attr]
        self.hide()

    def open(self, commands: Iterable[PaletteCommand], chats: Iterable[ChatSummary]) -> None:
        """Show the palette with these offers, chats newest first, and take the keyboard."""
        self._return.remember(self)
        self.field.blockSignals(True)  # what was typed before is gone, and finds nothing any more
        self.field.clear()
        self.field.blockSignals(False)
        self._offers.set_offers(commands, chats)
        self._show_offers()
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)

    def close_palette(self) -> None:
        """Go, and give the keyboard back."""
        if self.isVisible():
            self.hide()
            self._return.give_back()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay as large as the window; act on the keys of the field that are no text."""
        if watched is self._covered and event.type() is QEvent.Type.Resize:
            self._place()
        elif watched is self.field and isinstance(event, QKeyEvent):
            if event.type() is QEvent.Type.ShortcutOverride and event.key() == Qt.Key.Key_Escape:
                event.accept()
                return True
            if event.type() is QEvent.Type.KeyPress:
                return self._act_on(Qt.Key(event.key()))
        return super().eventFilter(watched, event)

    def mousePressEvent(self, _event: QMouseEvent) -> None:
        """A click beside the panel."""
        self.close_palette()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The shade over the window."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), _SHADE)
        painter.end()

    def _arrange(self) -> None:
        self.list.setAccessibleName(self.tr("Commands and chats"))
        self.list.setModel(self._offers)
        self.list.setItemDelegate(PaletteDelegate(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the field keeps the keyboard
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.none_fits.setProperty("muted", True)
        self.none_fits.setContentsMargins(UNIT * 7 // 4, UNIT, UNIT, UNIT)
        column = QVBoxLayout(self.panel)
        column.setContentsMargins(UNIT, UNIT, UNIT, UNIT)
        column.setSpacing(UNIT // 2)
        for part in (self.field, self.none_fits, self.list):
            column.addWidget(part)

    def _place(self) -> None:
        """Cover the window; the panel is as high as its rows, but no higher than the window."""
        self.resize(self._covered.size())
        rows = min(max(self._offers.rowCount(), 1), N_ROWS)
        self.list.setFixedHeight(rows * max(self.list.sizeHintForRow(0), UNIT) + 2)
        size = self.panel.sizeHint()
        width = min(_WIDTH, self.width() - UNIT * 4)
        height = min(size.height(), self.height() - UNIT * 2)
        top = min(self.height() // 8, self.height() - height)
        self.panel.setGeometry((self.width() - width) // 2, max(top, 0), width, height)

    def _find(self, text: str) -> None:
        self._offers.find(text)
        self._show_offers()
        self._say_chosen()

    def _show_offers(self) -> None:
        n_offers = self._offers.rowCount()
        self.none_fits.setVisible(n_offers == 0)
        self.list.setVisible(n_offers > 0)
        self.list.setCurrentIndex(self._offers.index(0))
        self._place()

    def _act_on(self, key: Qt.Key) -> bool:
        """Whether the key means something here, which is done then."""
        if key is Qt.Key.Key_Escape:
            self.close_palette()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.list.currentIndex())
        elif key in _STEPS:
            self._step(_STEPS[key])
        else:
            return key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab)  # there is nowhere else to go
        return True

    def _step(self, n_rows: int) -> None:
        """One row beyond an end comes the other end; a page stops there."""
        n_offers = self._offers.rowCount()
        if n_offers:
            row = self.list.currentIndex().row() + n_rows
            row = row % n_offers if abs(n_rows) == 1 else min(max(row, 0), n_offers - 1)
            self.list.setCurrentIndex(self._offers.index(row))
            self._say_chosen()

    def _say_chosen(self) -> None:
        index = self.list.currentIndex()
        words = index.data(Qt.ItemDataRole.AccessibleTextRole) if index.isValid() else self.none_fits.text()
        announce(self.field, words)

    def _choose(self, index: QModelIndex) -> None:
        offer = self._offers.offer_at(index.row())
        if isinstance(offer, ChatSummary):
            self.close_palette()
            self.chat_chosen.emit(offer.id)
        elif offer and not offer.unavailable_because:
            self.close_palette()
            self.command_chosen.emit(offer.id)
        elif offer:
            announce(self.field, offer.unavailable_because)

    def _on_focus_changed(self, _old: QWidget | None, new: QWidget | None) -> None:
        if new and self.isVisible() and new is not self and not self.isAncestorOf(new):
            self._return.forget()
            self.hide()
