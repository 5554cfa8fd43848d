"""The chats as Qt's list views want them, newest first.

Chat summaries go in, titles come out. A title that was edited in a view is only asked for with
`rename_requested`: the store's owner writes it and puts the chat back. Knows nothing about stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from app.data.stored_message import ChatSummary

CHAT_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `ChatSummary` of a row."""

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class ChatListItemModel(QAbstractListModel):
    """One row a chat."""

    rename_requested = Signal(str, str)
    """Chat id and the title that the user typed, without outer blanks and never empty."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._chats: list[ChatSummary] = []

    def set_chats(self, chats: Sequence[ChatSummary]) -> None:
        """Show these chats instead of all others."""
        self.beginResetModel()
        self._chats = list(chats)
        self.endResetModel()

    def put_first(self, chat: ChatSummary) -> None:
        """Show `chat` on top, new or moved, with its current title."""
        row = self.row_of(chat.id)
        if row is None:
            self.beginInsertRows(_ROOT, 0, 0)
            self._chats.insert(0, chat)
            self.endInsertRows()
            return
        if row > 0:
            self.beginMoveRows(_ROOT, row, row, _ROOT, 0)
            self._chats.insert(0, self._chats.pop(row))
            self.endMoveRows()
        self.update_chat(chat)

    def update_chat(self, chat: ChatSummary) -> None:
        """Show a chat's new title where it stands."""
        row = self.row_of(chat.id)
        if row is not None and self._chats[row] != chat:
            self._chats[row] = chat
            self.dataChanged.emit(self.index(row), self.index(row))

    def remove(self, chat_id: str) -> None:
        """Do not show a chat any more."""
        row = self.row_of(chat_id)
        if row is not None:
            self.beginRemoveRows(_ROOT, row, row)
            del self._chats[row]
            self.endRemoveRows()

    def row_of(self, chat_id: str | None) -> int | None:
        """The row of a chat, None if it is not shown."""
        return next((row for row, chat in enumerate(self._chats) if chat.id == chat_id), None)

    def chat_at(self, row: int) -> ChatSummary | None:
        """The chat of a row, None outside."""
        return self._chats[row] if 0 <= row < len(self._chats) else None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many chats there are."""
        return 0 if parent.isValid() else len(self._chats)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The title, or the `ChatSummary` for CHAT_ROLE."""
        if not index.isValid():
            return None
        chat = self._chats[index.row()]
        title = chat.title or self.tr("New chat")
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole, Qt.ItemDataRole.ToolTipRole):
            return title
        return chat if role == CHAT_ROLE else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Ask for another title; blank ones are ignored."""
        title = str(value).strip()
        if not index.isValid() or role != Qt.ItemDataRole.EditRole or not title:
            return False
        self.rename_requested.emit(self._chats[index.row()].id, title)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Every title can be selected and edited."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return (
            Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemIsEditable
            | Qt.ItemFlag.ItemNeverHasChildren
        )
