"""The list of chats: names, pins, deleting and bringing back.

The user's wishes come in; the store and the item model are brought up to date. Promises: a deleted chat
can be brought back for a day. It knows nothing about which chat is open, or what is in it.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.data.chat_store import ChatStore
from app.data.stored_message import ChatSummary
from app.item_models.chat_list_item_model import ChatListItemModel
from app.services.notice import Notice, NoticeAction
from engine.errors import KnownError

KEPT_DELETED_S = 24 * 3600.0
"""How long a deleted chat is kept before it is gone for good."""


class ChatList(QObject):
    """Owns what was deleted, the last one last, with its title."""

    deleted = Signal(str)
    """The id of a chat that is in the list no more."""

    restored = Signal(str)
    """The id of a chat that is back."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(self, store: ChatStore, chats: ChatListItemModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._chats = chats
        self._deleted: list[tuple[str, str]] = []
        chats.rename_requested.connect(self.rename)

    def refresh(self) -> None:
        """Read the list from the store, and let go of what was deleted long ago."""
        try:
            self._store.purge_deleted(KEPT_DELETED_S)
            self._chats.set_chats(self._store.list_chats())
        except KnownError as error:
            self._tell(error)

    def add(self, chat: ChatSummary) -> None:
        """A new chat."""
        self._chats.put_first(chat)

    def show(self, chat_id: str) -> None:
        """Show a chat as the store has it, on top if it is the newest; raises KnownError."""
        chats = self._store.list_chats()
        chat = next((chat for chat in chats if chat.id == chat_id), None)
        if chat and chat is chats[0]:
            self._chats.put_first(chat)
        elif chat:
            self._chats.update_chat(chat)

    def rename(self, chat_id: str, title: str) -> None:
        """Give a chat another title."""
        try:
            self._store.rename_chat(chat_id, title)
            self.show(chat_id)
        except KnownError as error:
            self._tell(error)

    def pin(self, chat_id: str, pinned: bool) -> None:
        """Let a chat stand above the others, or among them again."""
        try:
            self._store.set_chat_pinned(chat_id, pinned)
            self.show(chat_id)
        except KnownError as error:
            self._tell(error)

    def delete(self, chat_id: str) -> None:
        """Delete a chat; `restore` brings it back."""
        try:
            title = next((chat.title for chat in self._store.list_chats() if chat.id == chat_id), "")
            self._store.delete_chat(chat_id)
        except KnownError as error:
            self._tell(error)
            return
        self._chats.remove(chat_id)
        self._deleted.append((chat_id, title or self.tr("New chat")))
        self.deleted.emit(chat_id)
        self._tell_deleted()

    def drop(self, chat_id: str) -> None:
        """Delete a chat that has no message, without a word."""
        try:
            self._store.delete_chat(chat_id)
        except KnownError as error:
            self._tell(error)
            return
        self._chats.remove(chat_id)
        self.deleted.emit(chat_id)

    def restore(self) -> None:
        """Bring back the chat that was deleted last; the one before it can be brought back next."""
        if not self._deleted:
            return
        chat_id, _title = self._deleted.pop()
        try:
            self._store.restore_chat(chat_id)
        except KnownError as error:
            self._tell(error)
            return
        self.refresh()
        self.restored.emit(chat_id)
        self._tell_deleted()

    def _tell_deleted(self) -> None:
        if self._deleted:
            sentence = self.tr(
                "The chat \N{LEFT DOUBLE QUOTATION MARK}{0}\N{RIGHT DOUBLE QUOTATION MARK} was deleted."
            )
            words = sentence.format(self._deleted[-1][1])
            self.notice.emit(Notice(words, action=NoticeAction.RESTORE_CHAT, calm=True))

    def _tell(self, error: KnownError) -> None:
        self.notice.emit(Notice(str(error)))
