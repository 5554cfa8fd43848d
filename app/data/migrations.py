"""The tables of the chats' database, as the ordered steps that made them.

A connection goes into each step; a database of the next version comes out. A step never changes once a
Weir with it was given away. Knows nothing about files and transactions: `database` runs the steps.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

APPLICATION_ID = 0x57656972  # "Weir": tells our databases from those of other programs

# What is true of every row of every version unless a page was damaged or mixed up. The tables check it
# too, so that salvaging skips what fails; columns that came later bring their checks along.
SOUND_ROWS = {
    "chats": "typeof(id) = 'text' AND typeof(title) = 'text'"
    " AND typeof(created_at) = 'real' AND typeof(updated_at) = 'real'",
    "messages": "typeof(chat_id) = 'text' AND role IN ('system', 'user', 'assistant')"
    " AND state IN ('complete', 'streaming', 'interrupted') AND typeof(created_at) = 'real'"
    " AND typeof(model) IN ('text', 'null') AND typeof(tokens_generated) IN ('integer', 'null')"
    " AND typeof(decode_tps) IN ('real', 'null') AND typeof(ttft_ms) IN ('real', 'null')"
    " AND typeof(prefill_tps) IN ('real', 'null') AND typeof(owner_pid) IN ('integer', 'null')"
    " AND typeof(owner_started) IN ('real', 'null') AND typeof(content) = 'text'",
}


def _make_chats_and_messages(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(
        "CREATE TABLE chats (id TEXT PRIMARY KEY, title TEXT NOT NULL,"
        f" created_at REAL NOT NULL, updated_at REAL NOT NULL, CHECK ({SOUND_ROWS['chats']}))"
    )
    # AUTOINCREMENT: an id is never used again, so that a late write cannot land in another message.
    # The content comes last: reading what stands before it never touches a long text's pages.
    connection.execute(
        "CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,"
        " role TEXT NOT NULL, state TEXT NOT NULL, created_at REAL NOT NULL, model TEXT,"
        " tokens_generated INTEGER, decode_tps REAL, ttft_ms REAL, prefill_tps REAL,"
        f" owner_pid INTEGER, owner_started REAL, content TEXT NOT NULL, CHECK ({SOUND_ROWS['messages']}))"
    )
    connection.execute("CREATE INDEX messages_of_chat ON messages (chat_id, id)")


def _add_pins_and_removals(connection: sqlite3.Connection) -> None:
    """Pins; messages that were replaced, which stay as hidden rows; how a reply ended."""
    for column in (
        "pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1))",
        "removed_at REAL CHECK (typeof(removed_at) IN ('real', 'null'))",
        "finish_reason TEXT CHECK (typeof(finish_reason) IN ('text', 'null'))",
        "reevaluated_because TEXT CHECK (typeof(reevaluated_because) IN ('text', 'null'))",
    ):
        connection.execute(f"ALTER TABLE messages ADD COLUMN {column}")


# The n-th function takes a database from version n to n + 1. Only ever append.
MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [
    _make_chats_and_messages,
    _add_pins_and_removals,
]
