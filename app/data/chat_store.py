"""Chats and their messages, in the database.

Texts and states of messages go in, frozen values come out. Promises:
- a user's message survives a loss of power once `add_user_message` has returned;
- a reply being written is stored as it grows, and is marked interrupted if its process was killed;
- what comes out of the store equals what its methods returned, and is valid Unicode;
- a message that was replaced is hidden and not lost: the replacement can be undone;
- a change to a message or chat that was deleted meanwhile, perhaps by another instance, does nothing.

All methods raise KnownError when the disk fails or is full. One store belongs to one thread.
Knows nothing about engines and windows.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.data.database import explained, open_database, transaction
from app.data.message_text import clean_text, title_from
from app.data.owner import Owner, is_running, this_process
from app.data.stored_message import (
    MESSAGE_COLUMNS,
    ChatSummary,
    MessageState,
    Removal,
    StoredMessage,
    TurnNumbers,
    columns_of,
    message_of,
)
from engine.errors import KnownError
from engine.protocol import Role


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """An open store; `notice` is one sentence for the user, None if there is nothing to tell."""

    store: ChatStore
    notice: str | None


def open_chat_store(path: Path) -> OpenedStore:
    """Open the chats at `path`, and mark the replies of killed processes as interrupted.

    Raises KnownError when the database belongs to a newer Weir, or cannot be read or written.
    """
    opened = open_database(path)
    store = ChatStore(opened.connection, path)
    try:
        store.recover()
    except BaseException:
        store.close()
        raise
    return OpenedStore(store, opened.notice)


class ChatStore:
    """All chats, over one connection of `open_database` to the database at `path`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._owner = this_process()

    def close(self) -> None:
        """Close the connection; the store cannot be used any more."""
        self._connection.close()

    def recover(self) -> int:
        """Mark replies as interrupted whose process does not run any more; returns how many."""
        streaming = "state = 'streaming'"
        with self._writing():
            owners = self._connection.execute(
                f"SELECT DISTINCT owner_pid, owner_started FROM messages WHERE {streaming}"
            ).fetchall()
            gone = [owner for owner in owners if None in owner or not is_running(Owner(*owner))]
            return sum(
                self._connection.execute(
                    f"UPDATE messages SET state = 'interrupted' WHERE {streaming}"
                    " AND owner_pid IS ? AND owner_started IS ?",
                    owner,
                ).rowcount
                for owner in gone
            )

    # --- chats ------------------------------------------------------------------------------------

    def create_chat(self, title: str = "") -> ChatSummary:
        """A new chat without messages; with an empty title, the first user message gives it one."""
        now = time.time()
        chat = ChatSummary(uuid.uuid4().hex, clean_text(title), now, now)
        with self._writing():
            self._connection.execute(
                "INSERT INTO chats (id, title, created_at, updated_at) VALUES (?, ?, ?, ?)",
                (chat.id, chat.title, chat.created_at, chat.updated_at),
            )
        return chat

    def list_chats(self) -> list[ChatSummary]:
        """All chats, the one with the newest message first."""
        return [
            ChatSummary(*row)
            for row in self._read(
                "SELECT id, title, created_at, updated_at FROM chats ORDER BY updated_at DESC, rowid DESC"
            )
        ]

    def rename_chat(self, chat_id: str, title: str) -> None:
        """Give a chat another title."""
        with self._writing():
            self._connection.execute("UPDATE chats SET title = ? WHERE id = ?", (clean_text(title), chat_id))

    def delete_chat(self, chat_id: str) -> None:
        """Delete a chat with all its messages."""
        with self._writing():
            self._connection.execute("DELETE FROM chats WHERE id = ?", (chat_id,))

    # --- messages ---------------------------------------------------------------------------------

    def messages(self, chat_id: str) -> list[StoredMessage]:
        """The messages of a chat that are not hidden, oldest first; empty if there is no such chat."""
        return [
            message_of(row)
            for row in self._read(
                f"SELECT {MESSAGE_COLUMNS} FROM messages"
                " WHERE chat_id = ? AND removed_at IS NULL ORDER BY id",
                chat_id,
            )
        ]

    def add_user_message(self, chat_id: str, content: str) -> StoredMessage:
        """Store what the user wrote; durable on return. Raises KnownError if the chat was deleted."""
        content = clean_text(content)
        with self._writing():
            return self._insert_question(chat_id, content)

    def replace_from(self, first: StoredMessage, content: str) -> tuple[StoredMessage, Removal]:
        """Store a user message instead of `first` and of all that came after it, which is hidden.

        The new message keeps the pin of the old one. Durable on return; all of it happens, or nothing.
        Raises KnownError if the chat was deleted.
        """
        with self._writing():
            message = self._insert_question(first.chat_id, clean_text(content), pinned=first.pinned)
            return message, self._hide(first, message.id)

    def hide_before(self, first: StoredMessage, reply: StoredMessage) -> Removal:
        """Hide `first` and what came after it, up to `reply`, which stands in its place now."""
        with self._writing():
            return self._hide(first, reply.id)

    def undo(self, removal: Removal) -> None:
        """Show what was hidden, and hide what came instead."""
        with self._writing():
            self._connection.execute(
                "UPDATE messages SET removed_at = ? WHERE chat_id = ? AND id >= ? AND removed_at IS NULL",
                (time.time(), removal.chat_id, removal.first_new_id),
            )
            self._connection.execute(
                "UPDATE messages SET removed_at = NULL WHERE chat_id = ? AND removed_at = ?",
                (removal.chat_id, removal.removed_at),
            )

    def set_pinned(self, message_id: int, pinned: bool) -> None:
        """Pin a message, or take its pin away."""
        with self._writing():
            self._connection.execute("UPDATE messages SET pinned = ? WHERE id = ?", (pinned, message_id))

    def begin_reply(self, chat_id: str, model: str | None) -> StoredMessage:
        """An empty reply that this process is going to write. Raises KnownError if the chat was deleted."""
        with self._writing():
            return self._insert(
                chat_id, Role.ASSISTANT, "", MessageState.STREAMING, clean_text(model) if model else None
            )

    def save_partial(self, message_id: int, content: str) -> None:
        """Store the reply's text so far. Survives a crash of Weir; does not wait for the disk.

        Writes as much as this text is long: call it at most every two seconds.
        """
        with self._writing(durable=False):
            self._connection.execute(
                "UPDATE messages SET content = ? WHERE id = ?", (clean_text(content), message_id)
            )

    def finish_reply(
        self, message_id: int, content: str, state: MessageState, numbers: TurnNumbers | None
    ) -> None:
        """Store the whole reply, as COMPLETE or INTERRUPTED; durable on return."""
        with self._writing():
            self._connection.execute(
                "UPDATE messages SET content = ?, state = ?, owner_pid = NULL, owner_started = NULL,"
                " tokens_generated = ?, decode_tps = ?, ttft_ms = ?, prefill_tps = ?, finish_reason = ?,"
                " reevaluated_because = ? WHERE id = ?",
                (clean_text(content), state, *columns_of(numbers), message_id),
            )
            self._connection.execute(
                "UPDATE chats SET updated_at = ? WHERE id = (SELECT chat_id FROM messages WHERE id = ?)",
                (time.time(), message_id),
            )

    def delete_message(self, message_id: int) -> None:
        """Delete one message."""
        with self._writing():
            self._connection.execute("DELETE FROM messages WHERE id = ?", (message_id,))

    # --- the connection ---------------------------------------------------------------------------

    def _read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with explained(self._path):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[None]:
        with explained(self._path), transaction(self._connection, durable=durable):
            yield

    def _insert_question(self, chat_id: str, content: str, *, pinned: bool = False) -> StoredMessage:
        message = self._insert(chat_id, Role.USER, content, MessageState.COMPLETE, None, pinned=pinned)
        self._connection.execute(
            "UPDATE chats SET updated_at = ?, title = iif(title = '', ?, title) WHERE id = ?",
            (message.created_at, title_from(content), chat_id),
        )
        return message

    def _hide(self, first: StoredMessage, first_new_id: int) -> Removal:
        now = time.time()
        n_removed = self._connection.execute(
            "UPDATE messages SET removed_at = ?"
            " WHERE chat_id = ? AND id >= ? AND id < ? AND removed_at IS NULL",
            (now, first.chat_id, first.id, first_new_id),
        ).rowcount
        return Removal(first.chat_id, now, first_new_id, n_removed)

    def _insert(
        self,
        chat_id: str,
        role: Role,
        content: str,
        state: MessageState,
        model: str | None,
        *,
        pinned: bool = False,
    ) -> StoredMessage:
        owner = self._owner if state is MessageState.STREAMING else None
        now = time.time()
        try:
            cursor = self._connection.execute(
                "INSERT INTO messages (chat_id, role, content, state, created_at, model, pinned, owner_pid,"
                " owner_started) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(chat_id, role, content, state, now, model, pinned),
                    *((owner.pid, owner.started) if owner else (None, None)),
                ),
            )
        except sqlite3.IntegrityError as error:
            raise KnownError(
                "This chat does not exist any more: it was deleted, perhaps in another window. "
                "Your text is safe where you wrote it: start a new chat and send it there."
            ) from error
        assert cursor.lastrowid is not None  # there is one after every INSERT
        return StoredMessage(cursor.lastrowid, chat_id, role, content, state, now, model, pinned=pinned)
