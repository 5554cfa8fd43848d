"""Whether a database file is sound, found out without changing a byte of it or its log.

A path goes in; a `Condition` comes out. Knows what damage looks like; what is done about it is the business
of `salvage`.
"""

from __future__ import annotations

import enum
import sqlite3
from contextlib import closing
from pathlib import Path

from app.data import migrations
from app.data.readable_rows import last_message_id
from app.data.set_aside import log_of

DAMAGE_CODES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

_BUSY_TIMEOUT_S = 10.0


class Condition(enum.Enum):
    """What a database file is like."""

    SOUND = enum.auto()  # or not there at all
    BROKEN = enum.auto()
    NEWER = enum.auto()  # sound, and made by a Weir that knows more than this one


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without its extension; SQLITE_ERROR where there is none."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """The value of a pragma that is a whole number."""
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def inspect(path: Path) -> Condition:
    """What the database at `path` is like; reads all of it, and changes nothing."""
    log_size = _size(log_of(path))
    if _size(path) <= 1:  # to SQLite a single byte is an empty file as well
        # Weir itself never leaves an empty file. SQLite would delete a log without its database: the
        # chats may be in it.
        return Condition.BROKEN if path.exists() or log_size > 0 else Condition.SOUND
    try:
        with closing(_connect_to_look(path, with_log=log_of(path).exists())) as connection:
            if _has_unsound_pages(connection) or _belongs_to_another_program(connection):
                return Condition.BROKEN
            if pragma(connection, "user_version") > len(migrations.MIGRATIONS):
                return Condition.NEWER  # what its rows must be like is not known here
            unsound = _has_unsound_rows(connection) or (log_size > 0 and _log_is_older(connection, path))
            return Condition.BROKEN if unsound else Condition.SOUND
    except sqlite3.DatabaseError as error:
        # These statements are right for every database of ours: an error in them is an error in it.
        if primary_code(error) in DAMAGE_CODES | {sqlite3.SQLITE_ERROR}:
            return Condition.BROKEN
        raise


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _connect_to_look(path: Path, *, with_log: bool) -> sqlite3.Connection:
    # Neither mode changes the files: a plain connection would write the log into the database when it
    # is closed. Immutable does not look at the log; without a log it leaves no new files behind.
    mode = "mode=ro" if with_log else "immutable=1"
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None
    )


def _belongs_to_another_program(connection: sqlite3.Connection) -> bool:
    n_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return n_tables > 0 and pragma(connection, "application_id") != migrations.APPLICATION_ID


def _has_unsound_pages(connection: sqlite3.Connection) -> bool:
    # Newer SQLites also tell where the index of search is wrong: `chat_search` builds that anew by itself.
    reports = [row[0] for row in connection.execute("PRAGMA quick_check")]
    return any(report != "ok" and "FTS5 table" not in report for report in reports)


def _has_unsound_rows(connection: sqlite3.Connection) -> bool:
    # quick_check does not know the tables' own checks on a connection that only reads.
    return any(
        connection.execute(f"SELECT EXISTS (SELECT 1 FROM {table} WHERE NOT ({sound}))").fetchone()[0]
        for table, sound in migrations.sound_rows(pragma(connection, "user_version")).items()
    )


def _log_is_older(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the log beside the database would take messages away: then it is not this database's."""
    with closing(_connect_to_look(path, with_log=False)) as without_log:
        # Zero if damaged: a crash while the log was being merged leaves this; with the log it is whole.
        before = last_message_id(without_log)
    return before > last_message_id(connection)
