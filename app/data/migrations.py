"""The tables of the chats' database, as the ordered steps that made them.

A connection goes into each step; a database of the next version comes out. A step never changes once a
Weir with it was given away. Knows nothing about files and transactions: `database` runs the steps.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from app.data import branch_links

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

# The same of tables that came with version 3.
SOUND_ROWS_OF_VERSION_3 = {
    "attachments": "typeof(message_id) = 'integer' AND typeof(name) = 'text' AND typeof(text) = 'text'",
    "drafts": "typeof(chat_id) = 'text' AND typeof(text) = 'text'",
}


def sound_rows(version: int) -> dict[str, str]:
    """For each table of a database of this version, what is true of its rows."""
    return (SOUND_ROWS if version >= 1 else {}) | (SOUND_ROWS_OF_VERSION_3 if version >= 3 else {})


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


def _add_branches_and_attachments(connection: sqlite3.Connection) -> None:
    """Messages as trees, with what a chat shows of its own; attachments, drafts, what to index for search."""
    for table, column in (
        ("chats", "head_id INTEGER CHECK (typeof(head_id) IN ('integer', 'null'))"),
        ("chats", "pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1))"),
        ("chats", "deleted_at REAL CHECK (typeof(deleted_at) IN ('real', 'null'))"),
        ("chats", "options TEXT NOT NULL DEFAULT '{}' CHECK (typeof(options) = 'text')"),
        ("messages", "parent_id INTEGER CHECK (typeof(parent_id) IN ('integer', 'null'))"),
        ("messages", "thinking_ms REAL CHECK (typeof(thinking_ms) IN ('real', 'null'))"),
    ):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    connection.execute(
        "CREATE TABLE attachments (id INTEGER PRIMARY KEY,"
        " message_id INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,"
        f" name TEXT NOT NULL, text TEXT NOT NULL, CHECK ({SOUND_ROWS_OF_VERSION_3['attachments']}))"
    )
    connection.execute(
        "CREATE TABLE drafts (chat_id TEXT PRIMARY KEY, text TEXT NOT NULL,"
        f" CHECK ({SOUND_ROWS_OF_VERSION_3['drafts']}))"
    )
    connection.execute("CREATE TABLE search_queue (message_id INTEGER PRIMARY KEY, former TEXT)")
    connection.execute("CREATE INDEX attachments_of_message ON attachments (message_id)")
    # All that a tree consists of, so that long texts are not touched for it.
    connection.execute("CREATE INDEX message_tree ON messages (chat_id, id, parent_id, removed_at)")
    connection.execute("DROP INDEX messages_of_chat")
    branch_links.link_all(connection)
    for trigger in _SEARCH_TRIGGERS:
        connection.execute(f"CREATE TRIGGER {trigger}")


def _add_counts_of_turns(connection: sqlite3.Connection) -> None:
    """How many tokens a reply did not read itself, and how many were drafted ahead of it."""
    for name in ("tokens_restored", "tokens_shared", "tokens_drafted", "tokens_accepted"):
        connection.execute(
            f"ALTER TABLE messages ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0"
            f" CHECK (typeof({name}) = 'integer')"
        )
    connection.execute(
        "ALTER TABLE messages ADD COLUMN draft_gain REAL CHECK (typeof(draft_gain) IN ('real', 'null'))"
    )


# What has changed since `chat_search` last looked: the message, and the text that the index has of it.
# The first change counts. A reply that is still being written is not searched and costs nothing here.
_SEARCH_TRIGGERS = (
    "message_added AFTER INSERT ON messages WHEN new.state <> 'streaming'"
    " BEGIN INSERT OR IGNORE INTO search_queue VALUES (new.id, NULL); END",
    "message_changed AFTER UPDATE OF content, state ON messages"
    " WHEN old.state <> 'streaming' OR new.state <> 'streaming'"
    " BEGIN INSERT OR IGNORE INTO search_queue"
    " VALUES (new.id, iif(old.state = 'streaming', NULL, old.content)); END",
    "message_deleted AFTER DELETE ON messages WHEN old.state <> 'streaming'"
    " BEGIN INSERT OR IGNORE INTO search_queue VALUES (old.id, old.content); END",
)

# The n-th function takes a database from version n to n + 1. Only ever append.
MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [
    _make_chats_and_messages,
    _add_pins_and_removals,
    _add_branches_and_attachments,
    _add_counts_of_turns,
]
