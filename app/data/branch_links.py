"""Links between messages, made where there were none and mended where they broke.

Chats whose messages were a plain list, or whose rows were partly lost, go in through a connection; trees
whose every link leads somewhere come out. A message that cannot be linked truly follows the nearest
earlier one of its chat, so that no text becomes unreachable. Part of the caller's transaction.
"""

from __future__ import annotations

import sqlite3

# The nearest earlier message of the chat that was shown together with this one: messages that were
# replaced together carry the same time in `removed_at`.
_NEAREST_EARLIER = (
    "(SELECT earlier.id FROM messages AS earlier WHERE earlier.chat_id = messages.chat_id"
    " AND earlier.id < messages.id"
    " AND (earlier.removed_at IS NULL OR earlier.removed_at = messages.removed_at)"
    " ORDER BY earlier.id DESC LIMIT 1)"
)

UNLINKED = 0
"""The `parent_id` of a message from a time without links; no message has this id."""


def link_all(connection: sqlite3.Connection) -> None:
    """Make branches of chats that were lists: each shows what it showed before."""
    mend_heads(connection)
    connection.execute(f"UPDATE messages SET parent_id = {UNLINKED}")
    link_messages(connection)


def link_messages(connection: sqlite3.Connection) -> None:
    """Give each UNLINKED message a parent: what was replaced becomes a branch beside what came instead."""
    links = connection.execute(
        f"SELECT {_NEAREST_EARLIER}, id FROM messages WHERE parent_id = {UNLINKED}"
    ).fetchall()
    # Only now: the links are found by what `removed_at` says.
    connection.executemany("UPDATE messages SET parent_id = ?, removed_at = NULL WHERE id = ?", links)


def mend_parents(connection: sqlite3.Connection) -> None:
    """Link each message anew whose parent is not an earlier message of its chat."""
    links = connection.execute(
        f"SELECT {_NEAREST_EARLIER}, id FROM messages WHERE parent_id IS NOT NULL"
        f" AND parent_id <> {UNLINKED} AND NOT EXISTS (SELECT 1 FROM messages AS parent"
        " WHERE parent.id = messages.parent_id AND parent.chat_id = messages.chat_id"
        " AND parent.id < messages.id)"
    ).fetchall()
    connection.executemany("UPDATE messages SET parent_id = ? WHERE id = ?", links)


def mend_heads(connection: sqlite3.Connection) -> None:
    """Let each chat whose head is not one of its messages show the newest one that was not removed."""
    connection.execute(
        "UPDATE chats SET head_id = coalesce("
        "(SELECT max(id) FROM messages WHERE chat_id = chats.id AND removed_at IS NULL),"
        " (SELECT max(id) FROM messages WHERE chat_id = chats.id))"
        " WHERE NOT EXISTS (SELECT 1 FROM messages WHERE id = chats.head_id AND chat_id = chats.id)"
    )
