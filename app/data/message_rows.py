"""Rows of messages: read as branches and versions, and inserted with what belongs to them.

A connection and ids go in, `StoredMessage`s come out, and back. Every function is one part of the
caller's transaction, and raises sqlite3 errors as they come. Knows nothing about which branch is shown.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from app.data.message_tree import MessageTree
from app.data.owner import Owner, is_running
from app.data.stored_message import MESSAGE_COLUMNS, Attachment, StoredMessage, columns_of, message_of


def read_tree(connection: sqlite3.Connection, chat_id: str) -> MessageTree:
    """All messages of a chat; empty if there is no such chat."""
    return MessageTree(
        connection.execute(
            "SELECT id, parent_id, removed_at IS NOT NULL FROM messages WHERE chat_id = ?", (chat_id,)
        )
    )


def read_messages(
    connection: sqlite3.Connection, tree: MessageTree, ids: Iterable[int]
) -> list[StoredMessage]:
    """The messages of `tree` with these ids that still exist, oldest first."""
    # One parameter for any number of ids: SQLite allows a limited number of parameters.
    wanted = json.dumps(list(ids))
    attachments = _read_attachments(connection, wanted)
    columns = ", ".join(f"messages.{name}" for name in MESSAGE_COLUMNS.split(", "))
    rows = connection.execute(
        f"SELECT {columns} FROM json_each(?) JOIN messages ON messages.id = json_each.value"
        " ORDER BY messages.id",
        (wanted,),
    )
    return [
        message_of(row, tuple(attachments.get(row[0], ())), *_version(tree, message_id=row[0]))
        for row in rows
    ]


def count_versions(connection: sqlite3.Connection, message: StoredMessage) -> int:
    """How many messages follow the one that `message` follows, it included, removed ones not."""
    count: int = connection.execute(
        "SELECT count(*) FROM messages WHERE chat_id = ? AND parent_id IS ? AND removed_at IS NULL",
        (message.chat_id, message.parent_id),
    ).fetchone()[0]
    return count


def insert_message(
    connection: sqlite3.Connection, message: StoredMessage, owner: Owner | None = None
) -> StoredMessage:
    """Insert `message` under a new id, which the returned one has; `owner` writes it, if it is streaming.

    Raises sqlite3.IntegrityError if there is no such chat.
    """
    cursor = connection.execute(
        f"INSERT INTO messages ({MESSAGE_COLUMNS}, owner_pid, owner_started)"
        f" VALUES (NULL{', ?' * (MESSAGE_COLUMNS.count(',') + 2)})",
        (
            *(message.chat_id, message.role, message.content, message.state, message.created_at),
            *(message.model, message.pinned, message.parent_id),
            *columns_of(message.numbers),
            *((owner.pid, owner.started) if owner else (None, None)),
        ),
    )
    assert cursor.lastrowid is not None  # there is one after every INSERT
    connection.executemany(
        "INSERT INTO attachments (message_id, name, text) VALUES (?, ?, ?)",
        [(cursor.lastrowid, attachment.name, attachment.text) for attachment in message.attachments],
    )
    return dataclasses.replace(message, id=cursor.lastrowid)


def interrupt_orphans(connection: sqlite3.Connection) -> int:
    """Mark replies as interrupted whose process does not run any more; returns how many."""
    streaming = "state = 'streaming'"
    owners = connection.execute(
        f"SELECT DISTINCT owner_pid, owner_started FROM messages WHERE {streaming}"
    ).fetchall()
    gone = [owner for owner in owners if None in owner or not is_running(Owner(*owner))]
    return sum(
        connection.execute(
            f"UPDATE messages SET state = 'interrupted' WHERE {streaming}"
            " AND owner_pid IS ? AND owner_started IS ?",
            owner,
        ).rowcount
        for owner in gone
    )


def _version(tree: MessageTree, message_id: int) -> tuple[int, int]:
    """The number of a message among its versions, and how many there are."""
    versions = tree.versions(tree.parent(message_id))
    number = versions.index(message_id) + 1 if message_id in versions else 1
    return number, max(len(versions), number)


def _read_attachments(connection: sqlite3.Connection, wanted: str) -> dict[int, list[Attachment]]:
    attachments = defaultdict(list)
    for message_id, name, text in connection.execute(
        "SELECT message_id, name, text FROM json_each(?) JOIN attachments ON message_id = json_each.value"
        " ORDER BY attachments.id",
        (wanted,),
    ):
        attachments[message_id].append(Attachment(name, text))
    return dict(attachments)
