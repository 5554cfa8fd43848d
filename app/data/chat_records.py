"""Chats as wholes, in the database: titles, pins, options, drafts, search, and taking chats out and in.

Changes of chats go in, `ChatSummary`s come out. Promises that a deleted chat can be restored until it is
purged, and that a change to one that is gone does nothing. Knows nothing about single messages.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.data import chat_search
from app.data.chat_options import ChatOptions, options_from_json
from app.data.chat_rows import has_same_messages, insert_chat, insert_whole, options_text, read_whole
from app.data.database import explained, snapshot, transaction
from app.data.message_text import clean_text
from app.data.stored_message import ChatSummary, Found, WholeChat

_AS_SETTINGS = ChatOptions()
_NEW_CHAT = ""  # in whose name the draft of a chat that is not stored yet is kept


class ChatRecords:
    """The chats, over one connection of `open_database` to the database at `path`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def close(self) -> None:
        """Close the connection; the store cannot be used any more."""
        self._connection.close()

    def create_chat(self, title: str = "", options: ChatOptions = _AS_SETTINGS) -> ChatSummary:
        """A new chat without messages; with an empty title, the first user message gives it one."""
        now = time.time()
        chat = ChatSummary(uuid.uuid4().hex, clean_text(title), now, now)
        with self._writing():
            insert_chat(self._connection, chat, options)
        return chat

    def list_chats(self) -> list[ChatSummary]:
        """All chats that are not deleted, the one with the newest message first."""
        return [
            ChatSummary(chat_id, title, created_at, updated_at, bool(pinned))
            for chat_id, title, created_at, updated_at, pinned in self._read(
                "SELECT id, title, created_at, updated_at, pinned FROM chats WHERE deleted_at IS NULL"
                " ORDER BY updated_at DESC, rowid DESC"
            )
        ]

    def rename_chat(self, chat_id: str, title: str) -> None:
        """Give a chat another title."""
        with self._writing():
            self._execute("UPDATE chats SET title = ? WHERE id = ?", clean_text(title), chat_id)

    def set_chat_pinned(self, chat_id: str, pinned: bool) -> None:
        """Put a chat above all others, or back among them."""
        with self._writing():
            self._execute("UPDATE chats SET pinned = ? WHERE id = ?", pinned, chat_id)

    def delete_chat(self, chat_id: str) -> None:
        """Take a chat out of the list; it can be restored until it is purged."""
        with self._writing():
            self._execute(
                "UPDATE chats SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL", time.time(), chat_id
            )

    def restore_chat(self, chat_id: str) -> None:
        """Undo `delete_chat`."""
        with self._writing():
            self._execute("UPDATE chats SET deleted_at = NULL WHERE id = ?", chat_id)

    def purge_deleted(self, older_than_s: float) -> int:
        """Delete for good what was deleted at least so many seconds ago; returns the number of chats.

        Drafts go with their chats. Messages that were removed so long ago lose their texts and stay as
        links in their branches.
        """
        latest = time.time() - older_than_s
        removed = "SELECT id FROM messages WHERE removed_at <= ?"
        with self._writing():
            n_chats = self._execute("DELETE FROM chats WHERE deleted_at <= ?", latest)
            self._execute(
                "DELETE FROM drafts WHERE chat_id <> ? AND chat_id NOT IN (SELECT id FROM chats)", _NEW_CHAT
            )
            self._execute(f"DELETE FROM attachments WHERE message_id IN ({removed})", latest)
            self._execute("UPDATE messages SET content = '' WHERE removed_at <= ? AND content <> ''", latest)
        with explained(self._path):
            chat_search.bring_up_to_date(self._connection)
        return n_chats

    def options(self, chat_id: str) -> ChatOptions:
        """What a chat does differently from the settings."""
        rows = self._read("SELECT options FROM chats WHERE id = ?", chat_id)
        return options_from_json(rows[0][0]) if rows else ChatOptions()

    def set_options(self, chat_id: str, options: ChatOptions) -> None:
        """Let a chat do other things differently from the settings."""
        with self._writing():
            self._execute("UPDATE chats SET options = ? WHERE id = ?", options_text(options), chat_id)

    def draft(self, chat_id: str | None) -> str:
        """What was written for a chat and not sent; None is the chat that is not stored yet."""
        rows = self._read("SELECT text FROM drafts WHERE chat_id = ?", chat_id or _NEW_CHAT)
        return str(rows[0][0]) if rows else ""

    def save_draft(self, chat_id: str | None, text: str) -> None:
        """Keep a draft. Survives a crash of Weir; does not wait for the disk."""
        key = chat_id or _NEW_CHAT
        with self._writing(durable=False):
            if text:
                self._execute("INSERT OR REPLACE INTO drafts VALUES (?, ?)", key, clean_text(text))
            else:
                self._execute("DELETE FROM drafts WHERE chat_id = ?", key)

    def search(self, text: str, limit: int = 200) -> list[Found]:
        """Where every word of `text` is: titles first, then messages of all branches, newest first."""
        chats = self.list_chats()
        with explained(self._path):
            return chat_search.search(self._connection, chats, text, limit)

    def whole_chat(self, chat_id: str) -> WholeChat | None:
        """A chat with all its branches, without what was removed; None if there is no such chat."""
        with explained(self._path), snapshot(self._connection):
            return read_whole(self._connection, chat_id)

    def count_known(self, chats: Sequence[WholeChat]) -> int:
        """How many of `chats` are stored already: made at the same moment, with the same messages."""
        stored: dict[float, list[str]] = {chat.summary.created_at: [] for chat in chats}
        for chat in self.list_chats():
            if chat.created_at in stored:
                stored[chat.created_at].append(chat.id)
        return sum(
            any(self._is_equal(chat_id, chat) for chat_id in stored[chat.summary.created_at])
            for chat in chats
        )

    def add_chats(self, chats: Sequence[WholeChat]) -> list[ChatSummary]:
        """Store chats, each under a new id: all of them, or none."""
        with self._writing():
            return [insert_whole(self._connection, chat) for chat in chats]

    def _is_equal(self, chat_id: str, chat: WholeChat) -> bool:
        stored = self.whole_chat(chat_id)
        return stored is not None and has_same_messages(stored, chat)

    # --- the connection ---------------------------------------------------------------------------

    def _read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with explained(self._path):
            return self._connection.execute(query, values).fetchall()

    def _execute(self, statement: str, *values: object) -> int:
        """Carry out a part of a transaction; returns how many rows it changed."""
        return self._connection.execute(statement, values).rowcount

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[None]:
        with explained(self._path), transaction(self._connection, durable=durable):
            yield
