"""The chats as Qt's list views want them, newest first.

Chat summaries go in, and which chats are being answered; titles come out. A title that was edited in a view
is only asked for with `rename_requested`: the store's owner writes it and puts the chat back. Knows nothing
about stores, and nothing about headings: `GroupedChatsItemModel` puts them between the chats.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QDateTime,
    QLocale,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from app.data.stored_message import ChatSummary

CHAT_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `ChatSummary` of a row."""

ANSWERING_ROLE = Qt.ItemDataRole.UserRole + 3
"""Whether the chat of a row is being answered."""

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class ChatListItemModel(QAbstractListModel):
    """One row a chat."""

    rename_requested = Signal(str, str)
    """Chat id and the title that the user typed, without outer blanks and never empty."""

    answering_changed = Signal(str)
    """The id of a chat that is being answered now, or no longer; no row is another one for it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._chats: list[ChatSummary] = []
        self._answering: frozenset[str] = frozenset()

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

    def set_answering(self, chat_ids: frozenset[str]) -> None:
        """These chats are being answered now."""
        before, self._answering = self._answering, chat_ids
        for chat_id in before ^ chat_ids:
            self.answering_changed.emit(chat_id)

    def is_answering(self, chat_id: str) -> bool:
        """Whether a chat is being answered."""
        return chat_id in self._answering

    def row_of(self, chat_id: str | None) -> int | None:
        """The row of a chat, None if it is not shown."""
        return next((row for row, chat in enumerate(self._chats) if chat.id == chat_id), None)

    def chat_at(self, row: int) -> ChatSummary | None:
        """The chat of a row, None outside."""
        return self._chats[row] if 0 <= row < len(self._chats) else None

    def chats(self) -> Sequence[ChatSummary]:
        """All chats, in the order of the rows."""
        return tuple(self._chats)

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many chats there are."""
        return 0 if parent.isValid() else len(self._chats)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """What `data_of` says of the chat in the row."""
        return self.data_of(self._chats[index.row()], role) if index.isValid() else None

    def data_of(self, chat: ChatSummary, role: int) -> Any:
        """The title, in one line where it is only read, or the `ChatSummary` for CHAT_ROLE."""
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.title_of(chat)
            case Qt.ItemDataRole.EditRole:
                return chat.title or self.title_of(chat)
            case Qt.ItemDataRole.ToolTipRole:
                return self._tool_tip(chat)
            case _ if role == ANSWERING_ROLE:
                return chat.id in self._answering
        return chat if role == CHAT_ROLE else None

    def name_of(self, chat_id: str) -> str:
        """What a chat is called by its id; "" if there is none."""
        row = self.row_of(chat_id)
        return "" if row is None else self.title_of(self._chats[row])

    def title_of(self, chat: ChatSummary) -> str:
        """What a chat is called, in one line, also before it has a title."""
        return " ".join(chat.title.split()) or self.tr("New chat")

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Ask for another title; blank ones are ignored."""
        if not index.isValid() or role != Qt.ItemDataRole.EditRole:
            return False
        return self.ask_to_rename(self._chats[index.row()].id, str(value))

    def ask_to_rename(self, chat_id: str, title: str) -> bool:
        """Ask for another title; False, and nothing else, if it is blank."""
        if title := title.strip():
            self.rename_requested.emit(chat_id, title)
        return bool(title)

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

    def _tool_tip(self, chat: ChatSummary) -> str:
        # As text, never as rich text: a title may hold <img src=...>, which a tool tip would read.
        title = html.escape(self.title_of(chat))
        if not 0 <= chat.updated_at < 1e11:
            return f"<p>{title}</p>"
        written = QDateTime.fromSecsSinceEpoch(int(chat.updated_at))
        return f"<p>{title}<br>{QLocale().toString(written, QLocale.FormatType.ShortFormat)}</p>"
