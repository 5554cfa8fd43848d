"""The chats once more, over a connection that belongs to another thread.

The path of a database that is open already goes in, a store comes out. Promises to make, migrate and
mend nothing. Knows nothing about threads.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from app.data.chat_store import ChatStore
from app.data.database import BUSY_TIMEOUT_S, explained
from app.data.readable_rows import decode


def open_chat_reader(path: Path) -> ChatStore:
    """A store over the database at `path`, which an open store has brought up to date.

    It is there to search: that may write, but only to the index of what is searched. Raises KnownError
    when the database cannot be read.
    """
    with explained(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw", timeout=BUSY_TIMEOUT_S, isolation_level=None, uri=True
        )
        connection.text_factory = decode
        return ChatStore(connection, path)
