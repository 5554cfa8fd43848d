"""The list of chats itself: opening, renaming, and everything else that can be done with one chat.

A `GroupedChatsItemModel` goes in, wishes come out as signals; whether one is granted shows in the item
model. Promises: headings are skipped; what a menu does concerns the chat that it was opened on, wherever
that moves meanwhile; the open chat is marked again when the keyboard leaves. Knows nothing about stores.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListView, QMenu, QWidget

from app.data.stored_message import ChatSummary
from app.item_models.grouped_chats_item_model import GroupedChatsItemModel
from app.views.chat_list_delegate import ChatListDelegate

_UPWARDS = (
    QAbstractItemView.CursorAction.MoveUp,
    QAbstractItemView.CursorAction.MovePrevious,
    QAbstractItemView.CursorAction.MovePageUp,
)
_NOT_LEFT = (
    Qt.FocusReason.PopupFocusReason,
    Qt.FocusReason.MenuBarFocusReason,
    Qt.FocusReason.ActiveWindowFocusReason,
)


class ChatListView(QListView):
    """Shows the chats under their headings."""

    chat_chosen = Signal(str)
    """The id of the chat to open, as in all signals."""

    pin_requested = Signal(str, bool)
    options_requested = Signal(str)
    export_requested = Signal(str, str)
    """With "markdown" or "json"."""

    delete_requested = Signal(str)

    def __init__(self, chats: GroupedChatsItemModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chats = chats
        self._marked: str | None = None
        self.setAccessibleName(self.tr("Chats"))
        self.setModel(chats)
        self.setItemDelegate(ChatListDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformItemSizes(True)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        self.clicked.connect(self._choose)
        self.activated.connect(self._choose)

    def mark(self, chat_id: str | None) -> None:
        """Mark the open chat; None marks none."""
        self._marked = chat_id
        row = self._chats.row_of(chat_id)
        if row is None:
            self.clearSelection()
            self.setCurrentIndex(QModelIndex())
        else:
            self.setCurrentIndex(self._chats.index(row))

    def rename_chosen(self) -> None:
        """Let the user write another title of the chat that is marked."""
        if self.currentIndex().isValid():
            self.scrollTo(self.currentIndex())
            self.edit(self.currentIndex())

    def open_neighbour(self, step: int) -> None:
        """Open the chat so many rows below the open one, above it if negative; the ends are joined."""
        rows = self._chats.chat_rows()
        if not rows:
            return
        row = self._chats.row_of(self._marked)
        at = rows.index(row) + step if row is not None else min(step, 0)
        self._choose(self._chats.index(rows[at % len(rows)]))

    def menu_of(self, chat: ChatSummary) -> QMenu:
        """What can be done with a chat; it deletes itself when it closes."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setAccessibleName(self.tr("Chat"))
        menu.addAction(self.tr("Open"), lambda: self.chat_chosen.emit(chat.id))
        menu.addAction(self.tr("Rename"), QKeySequence(Qt.Key.Key_F2), lambda: self._rename(chat.id))
        pin = self.tr("Unpin") if chat.pinned else self.tr("Pin to the top")
        menu.addAction(pin, lambda: self.pin_requested.emit(chat.id, not chat.pinned))
        menu.addAction(
            self.tr("Chat options \N{HORIZONTAL ELLIPSIS}"), lambda: self.options_requested.emit(chat.id)
        )
        export = menu.addMenu(self.tr("Export"))
        export.addAction(
            self.tr("Markdown \N{HORIZONTAL ELLIPSIS}"),
            lambda: self.export_requested.emit(chat.id, "markdown"),
        )
        export.addAction(
            self.tr("JSON \N{HORIZONTAL ELLIPSIS}"), lambda: self.export_requested.emit(chat.id, "json")
        )
        menu.addSeparator()
        menu.addAction(
            self.tr("Delete"), QKeySequence(Qt.Key.Key_Delete), lambda: self.delete_requested.emit(chat.id)
        )
        return menu

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the chat under the mouse, or of the chosen one for the keyboard."""
        if event.reason() is QContextMenuEvent.Reason.Mouse:
            self._open_menu(self.indexAt(event.pos()), event.pos())
        else:
            self._open_menu_at_current()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The right button opens a menu, and leaves the mark at the open chat."""
        if event.button() != Qt.MouseButton.RightButton:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Delete, and the menu where the system does not open it by itself."""
        chat = self._chats.chat_at(self.currentIndex().row())
        shift = event.modifiers() == Qt.KeyboardModifier.ShiftModifier
        if chat and event.matches(QKeySequence.StandardKey.Delete):
            self.delete_requested.emit(chat.id)
        elif event.key() == Qt.Key.Key_Menu or (event.key() == Qt.Key.Key_F10 and shift):
            self._open_menu_at_current()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Who looked around in the list without opening anything finds the open chat marked again."""
        super().focusOutEvent(event)
        if event.reason() not in _NOT_LEFT and self.state() is not QAbstractItemView.State.EditingState:
            self.mark(self._marked)

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        """Never to a heading: on to the next chat behind it."""
        index = super().moveCursor(action, modifiers)
        if not index.isValid() or self._chats.chat_at(index.row()):
            return index
        down, up = index.siblingAtRow(index.row() + 1), index.siblingAtRow(index.row() - 1)
        return up if action in _UPWARDS and up.isValid() else down

    def _choose(self, index: QModelIndex) -> None:
        if chat := self._chats.chat_at(index.row()):
            self.chat_chosen.emit(chat.id)

    def _rename(self, chat_id: str) -> None:
        row = self._chats.row_of(chat_id)
        if row is not None:
            self.setFocus()
            self.setCurrentIndex(self._chats.index(row))
            self.rename_chosen()

    def _open_menu_at_current(self) -> None:
        self.scrollTo(self.currentIndex())
        self._open_menu(self.currentIndex(), self.visualRect(self.currentIndex()).center())

    def _open_menu(self, index: QModelIndex, position: QPoint) -> None:
        if chat := self._chats.chat_at(index.row()):
            self.menu_of(chat).popup(self.viewport().mapToGlobal(position))
