"""The rows of a damaged database that can still be read.

A broken file goes in as a copy of its own; rows come out. Promises that every row outside damaged pages
is found while no more than 50,000 ids in a row have no answer. Knows nothing about what is in the rows.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from app.data import migrations
from app.data.set_aside import log_of

Row = tuple[object, ...]
Create = Callable[[Path], sqlite3.Connection]

# A damaged page hides a range of row ids of unknown length: this many ids in a row without an answer
# are taken for the end of the table, and fewer behind the highest id that there ever was.
_MOST_MISSES = 50_000
_MOST_MISSES_BEHIND_LAST = 1_000

_HEADER = 100  # bytes of the first page before the list of tables begins
_VERSION = slice(60, 64)  # of the header: the user_version


def decode(text: bytes) -> str:
    """Stored text, with U+FFFD for what is not valid UTF-8 any more."""
    return text.decode("utf-8", "replace")


def copy_of(path: Path, copy: Path, create: Create, *, with_log: bool) -> sqlite3.Connection:
    """A connection to a new file `copy` to read from; `create` makes an empty database."""
    # SQLite may write to what it opens, and the broken file must stay as it is.
    if path.exists():
        shutil.copyfile(path, copy)
    else:
        copy.touch()
    if with_log and log_of(path).exists():
        shutil.copyfile(log_of(path), log_of(copy))
    if copy.stat().st_size <= 1:
        os.truncate(copy, 4096)  # SQLite deletes the log of an empty database, and everything may be in it
    connection = _connect(copy)
    if _has_lost_its_tables(connection) and _lend_tables(copy, create):
        connection.close()
        connection = _connect(copy)
    return connection


def last_message_id(connection: sqlite3.Connection) -> int:
    """The highest id that a message ever had, which only grows; 0 if there is none or it is unreadable."""
    try:
        row = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'messages'").fetchone()
    except sqlite3.DatabaseError:
        return 0
    return row[0] if isinstance(row[0], int) else 0


def readable_rows(old: sqlite3.Connection, table: str, columns: list[str]) -> Iterator[Row]:
    """Every row outside damaged pages, found by going on behind each id that cannot be read."""
    select = f"SELECT rowid, {', '.join(columns)} FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid"
    last = last_message_id(old) if table == "messages" else 0
    position, misses = 0, 0
    with contextlib.suppress(sqlite3.DatabaseError):
        old.execute("BEGIN")  # else every single miss opens and locks the file anew
    while misses < (_MOST_MISSES_BEHIND_LAST if 0 < last < position else _MOST_MISSES):
        try:
            for rowid, *row in old.execute(select, (position,)):
                position, misses = rowid, 0
                yield tuple(row)
            break
        except sqlite3.DatabaseError:
            position, misses = position + 1, misses + 1
    if old.in_transaction:
        old.execute("ROLLBACK")


def columns_of_table(connection: sqlite3.Connection, table: str) -> list[str]:
    """The names of the columns; none if there is no such table or its description is damaged."""
    try:
        return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    except sqlite3.DatabaseError:
        return []


def _connect(copy: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(copy, isolation_level=None)
    # Where a text's bytes are missing, SQLite reads NULs.
    connection.text_factory = lambda text: decode(text).rstrip("\0")
    with contextlib.suppress(sqlite3.DatabaseError):
        # Lets SQLite read a file that is shorter than its header says.
        connection.execute("PRAGMA writable_schema = ON")
    return connection


def _has_lost_its_tables(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT name FROM sqlite_master").fetchall()
    except sqlite3.DatabaseError as error:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT
    return False


def _lend_tables(copy: Path, create: Create) -> bool:
    """Give `copy` the list of tables of a new database, if its own version is that of a new one.

    The tables that Weir makes first are always at the same pages, but their list moves to the end of the
    file when search adds its own: a file that was cut there would have all chats and no list of tables.
    """
    with copy.open("r+b") as file:
        header = file.read(_HEADER)
        if int.from_bytes(header[_VERSION], "big") != len(migrations.MIGRATIONS):
            return False
        lender = copy.with_name("lender.db")
        with closing(create(lender)) as new:
            new.execute("PRAGMA journal_mode = DELETE")
            page_size = new.execute("PRAGMA page_size").fetchone()[0]
        file.write(lender.read_bytes()[_HEADER:page_size])
        lender.unlink()
    return True
