"""The messages of the open chat as Qt's views want them, oldest first.

Stored messages go in; a view gets them back whole under MESSAGE_ROLE. A reply that grows changes its
own row and no other. Knows nothing about stores, engines or how a message looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.data.chat_store import StoredMessage

MESSAGE_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `StoredMessage` of a row."""

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class TranscriptItemModel(QAbstractListModel):
    """One row a message."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages: list[StoredMessage] = []

    def set_messages(self, messages: Sequence[StoredMessage]) -> None:
        """Show another chat."""
        self.beginResetModel()
        self._messages = list(messages)
        self.endResetModel()

    def append(self, message: StoredMessage) -> None:
        """Show a new message at the end."""
        row = len(self._messages)
        self.beginInsertRows(_ROOT, row, row)
        self._messages.append(message)
        self.endInsertRows()

    def update_message(self, message: StoredMessage) -> None:
        """Show a message's new text, state or numbers; one that is not shown is ignored."""
        row = self._row_of(message.id)
        if row is not None:
            self._messages[row] = message
            self.dataChanged.emit(self.index(row), self.index(row))

    def remove(self, message_id: int) -> None:
        """Do not show a message any more."""
        row = self._row_of(message_id)
        if row is not None:
            self.beginRemoveRows(_ROOT, row, row)
            del self._messages[row]
            self.endRemoveRows()

    def message_at(self, row: int) -> StoredMessage:
        """The message of a row; raises IndexError outside."""
        return self._messages[row]

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many messages there are."""
        return 0 if parent.isValid() else len(self._messages)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text, or the `StoredMessage` for MESSAGE_ROLE."""
        if not index.isValid():
            return None
        message = self._messages[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return message.content
        return message if role == MESSAGE_ROLE else None

    def _row_of(self, message_id: int) -> int | None:
        # From the end: it is nearly always the last one that changes.
        rows = range(len(self._messages) - 1, -1, -1)
        return next((row for row in rows if self._messages[row].id == message_id), None)
