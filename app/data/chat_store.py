"""Chats and their messages, in the database.

Texts and states of messages go in, frozen values come out. The messages of a chat are a tree and one of
its branches is shown: the path from a first message down to the chat's head. Promises:
- a user's message survives a loss of power once `add_user_message` or `add_version` has returned;
- a reply being written is stored as it grows, and is marked interrupted if its process was killed;
- what comes out of the store equals what its methods returned, and is valid Unicode;
- a message that was edited, answered again or removed stays in the tree and can be shown again;
- a change to a message or chat that was deleted meanwhile, perhaps by another instance, does nothing.

All methods raise KnownError when the disk fails or is full. One store belongs to one thread.
Knows nothing about engines and windows.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.data.chat_records import ChatRecords
from app.data.database import explained, open_database, snapshot
from app.data.message_rows import (
    count_versions,
    insert_message,
    interrupt_orphans,
    read_messages,
    read_tree,
)
from app.data.message_text import clean_text, title_of
from app.data.message_tree import MessageTree
from app.data.new_messages import new_question, new_reply
from app.data.owner import this_process
from app.data.stored_message import Attachment, MessageState, StoredMessage, TurnNumbers, columns_of
from engine.errors import KnownError


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """An open store; `notice` is one sentence for the user, None if there is nothing to tell."""

    store: ChatStore
    notice: str | None


def open_chat_store(path: Path) -> OpenedStore:
    """Open the chats at `path`, and mark the replies of killed processes as interrupted.

    A broken database, or one of a newer Weir, is rescued first, which may take seconds. Raises KnownError
    when the database cannot be read or written.
    """
    opened = open_database(path)
    return OpenedStore(recovered_store(opened.connection, path), opened.notice)


def recovered_store(connection: sqlite3.Connection, path: Path) -> ChatStore:
    """A store over an open database, with the replies of killed processes marked as interrupted."""
    store = ChatStore(connection, path)
    try:
        store.recover()
    except BaseException:
        store.close()
        raise
    return store


class ChatStore(ChatRecords):
    """All chats with their messages."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        super().__init__(connection, path)
        self._owner = this_process()

    def recover(self) -> int:
        """Mark replies as interrupted whose process does not run any more; returns how many."""
        with self._writing():
            return interrupt_orphans(self._connection)

    # --- reading ----------------------------------------------------------------------------------

    def messages(self, chat_id: str) -> list[StoredMessage]:
        """The branch that a chat shows, oldest first; empty if there is no such chat."""
        with explained(self._path), snapshot(self._connection):
            tree = read_tree(self._connection, chat_id)
            return read_messages(self._connection, tree, tree.branch(self.head(chat_id)))

    def some_messages(self, chat_id: str, message_ids: Sequence[int]) -> list[StoredMessage]:
        """Those of a chat's messages, of whatever branch, that exist and were not removed; oldest first."""
        with explained(self._path), snapshot(self._connection):
            tree = read_tree(self._connection, chat_id)
            shown = [key for key in message_ids if key in tree.versions(tree.parent(key))]
            return read_messages(self._connection, tree, shown)

    def head(self, chat_id: str) -> int | None:
        """The id of the message at the end of the branch that a chat shows; None while it is empty."""
        rows = self._read("SELECT head_id FROM chats WHERE id = ?", chat_id)
        return rows[0][0] if rows else None

    # --- user messages ----------------------------------------------------------------------------

    def add_user_message(
        self, chat_id: str, content: str, attachments: Sequence[Attachment] = ()
    ) -> StoredMessage:
        """Store what the user wrote below the head; durable on return.

        Raises KnownError if the chat was deleted.
        """
        with self._writing():
            return self._add_question(new_question(chat_id, self.head(chat_id), content, attachments))

    def add_version(
        self, former: StoredMessage, content: str, attachments: Sequence[Attachment] = ()
    ) -> StoredMessage:
        """Store a user message beside `former`, whose pin it keeps, and show it; durable on return.

        Raises KnownError if the chat was deleted.
        """
        with self._writing():
            question = new_question(former.chat_id, former.parent_id, content, attachments)
            return self._add_question(dataclasses.replace(question, pinned=former.pinned))

    # --- replies ----------------------------------------------------------------------------------

    def begin_reply(self, question: StoredMessage, model: str | None) -> StoredMessage:
        """An empty reply below `question` that this process is going to write; a further one is a version.

        Raises KnownError if the chat or the question was deleted.
        """
        return self.begin_replies(question, model, 1)[0]

    def begin_replies(
        self, question: StoredMessage, model: str | None, n_replies: int
    ) -> list[StoredMessage]:
        """So many empty replies below `question`, the first one shown; all of them or none.

        Raises KnownError as `begin_reply` does.
        """
        with self._writing():
            replies = [self._add(new_reply(question, model)) for _ in range(n_replies)]
            self._set_head(question.chat_id, replies[0].id)
            return [dataclasses.replace(one, n_versions=replies[-1].n_versions) for one in replies]

    def continue_reply(self, reply: StoredMessage) -> StoredMessage:
        """Let this process write on in a reply that had ended.

        Raises KnownError if it was deleted, or is being written already.
        """
        with self._writing():
            n_changed = self._execute(
                "UPDATE messages SET state = 'streaming', owner_pid = ?, owner_started = ?"
                " WHERE id = ? AND state <> 'streaming'",
                *(self._owner.pid, self._owner.started, reply.id),
            )
        if not n_changed:
            raise KnownError(
                "This reply cannot be continued: it was deleted or is being written, perhaps in another "
                "window. Nothing was changed: open the chat again to see it as it is now."
            )
        return dataclasses.replace(reply, state=MessageState.STREAMING)

    def save_partial(self, message_id: int, content: str) -> None:
        """Store the reply's text so far. Survives a crash of Weir; does not wait for the disk.

        Writes as much as this text is long: call it at most every second.
        """
        with self._writing(durable=False):
            self._execute("UPDATE messages SET content = ? WHERE id = ?", clean_text(content), message_id)

    def finish_reply(
        self, message_id: int, content: str, state: MessageState, numbers: TurnNumbers | None
    ) -> None:
        """Store the whole reply, as COMPLETE or INTERRUPTED; durable on return."""
        with self._writing():
            self._execute(
                "UPDATE messages SET content = ?, state = ?, owner_pid = NULL, owner_started = NULL,"
                " tokens_generated = ?, decode_tps = ?, ttft_ms = ?, prefill_tps = ?, finish_reason = ?,"
                " reevaluated_because = ?, thinking_ms = ?, tokens_restored = ?, tokens_shared = ?,"
                " tokens_drafted = ?, tokens_accepted = ?, draft_gain = ? WHERE id = ?",
                *(clean_text(content), state, *columns_of(numbers), message_id),
            )
            self._execute(
                "UPDATE chats SET updated_at = ? WHERE id = (SELECT chat_id FROM messages WHERE id = ?)",
                *(time.time(), message_id),
            )

    # --- taking back ------------------------------------------------------------------------------

    def discard_message(self, message_id: int) -> None:
        """Delete a message that never really was, unless others follow it; its parent becomes the head."""
        with self._writing():
            chat_id, tree = self._tree_of(message_id)
            if message_id not in tree or tree.has_children(message_id):
                return
            if self.head(chat_id) == message_id:
                self._set_head(chat_id, tree.parent(message_id))
            self._execute("DELETE FROM messages WHERE id = ?", message_id)

    def remove_message(self, message_id: int) -> None:
        """Take a message out of what is shown; what follows it stays.

        If it was the last one shown, the newest of its other versions is shown instead.
        """
        with self._writing():
            chat_id, tree = self._tree_of(message_id)
            self._execute(
                "UPDATE messages SET removed_at = ? WHERE id = ? AND removed_at IS NULL",
                *(time.time(), message_id),
            )
            shown = tree.branch(self.head(chat_id))
            others = [other for other in tree.versions(tree.parent(message_id)) if other != message_id]
            if others and shown and shown[-1] == message_id:
                self._set_head(chat_id, tree.newest_below(others[-1]))

    def restore_message(self, message_id: int, head_id: int | None) -> None:
        """Undo `remove_message`; `head_id` is what was the head before it."""
        with self._writing():
            chat_id, tree = self._tree_of(message_id)
            self._execute("UPDATE messages SET removed_at = NULL WHERE id = ?", message_id)
            if head_id in tree:
                self._set_head(chat_id, head_id)

    def set_pinned(self, message_id: int, pinned: bool) -> None:
        """Pin a message, or take its pin away."""
        with self._writing():
            self._execute("UPDATE messages SET pinned = ? WHERE id = ?", pinned, message_id)

    # --- branches ---------------------------------------------------------------------------------

    def show_branch(self, chat_id: str, head_id: int | None) -> None:
        """Show the branch that ends with `head_id`; None shows an empty chat."""
        with self._writing():
            if head_id is None or head_id in read_tree(self._connection, chat_id):
                self._set_head(chat_id, head_id)

    def show_version(self, message: StoredMessage, version: int) -> None:
        """Show number `version`, from 1, among the versions of `message`, with the newest that follows it."""
        with self._writing():
            tree = read_tree(self._connection, message.chat_id)
            versions = tree.versions(message.parent_id)
            if 1 <= version <= len(versions):
                self._set_head(message.chat_id, tree.newest_below(versions[version - 1]))

    def show_message(self, message_id: int) -> None:
        """Show a branch in which a message is, unless it is shown already."""
        with self._writing():
            chat_id, tree = self._tree_of(message_id)
            if message_id in tree and message_id not in tree.branch(self.head(chat_id)):
                self._set_head(chat_id, tree.newest_below(message_id))

    # --- parts of transactions --------------------------------------------------------------------

    def _tree_of(self, message_id: int) -> tuple[str, MessageTree]:
        """The chat of a message and all its messages; an empty tree if the message is gone."""
        rows = self._read("SELECT chat_id FROM messages WHERE id = ?", message_id)
        chat_id = rows[0][0] if rows else ""
        return chat_id, read_tree(self._connection, chat_id)

    def _set_head(self, chat_id: str, head_id: int | None) -> None:
        self._execute("UPDATE chats SET head_id = ? WHERE id = ?", head_id, chat_id)

    def _add_question(self, question: StoredMessage) -> StoredMessage:
        message = self._add(question)
        title = title_of(message.content, [attachment.name for attachment in message.attachments])
        self._execute(
            "UPDATE chats SET updated_at = ?, title = iif(title = '', ?, title) WHERE id = ?",
            *(message.created_at, title, message.chat_id),
        )
        return message

    def _add(self, message: StoredMessage) -> StoredMessage:
        """Insert a message as the newest version of itself, and show it."""
        if not self._read("SELECT 1 FROM chats WHERE id = ? AND deleted_at IS NULL", message.chat_id):
            raise KnownError(
                "This chat does not exist any more: it was deleted, perhaps in another window. "
                "Your text is safe where you wrote it: start a new chat and send it there."
            )
        parent_id = message.parent_id
        if parent_id is not None and not self._read("SELECT 1 FROM messages WHERE id = ?", parent_id):
            raise KnownError(
                "The message before this one does not exist any more: it was deleted, perhaps in another "
                "window. Your text is safe where you wrote it: open the chat again and send it there."
            )
        owner = self._owner if message.state is MessageState.STREAMING else None
        stored = insert_message(self._connection, message, owner)
        number = count_versions(self._connection, stored)
        self._set_head(stored.chat_id, stored.id)
        return dataclasses.replace(stored, version=number, n_versions=number)
