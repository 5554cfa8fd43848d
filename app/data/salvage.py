"""A broken database: set aside, and what is readable saved into a new one.

A path of a file that SQLite refuses goes in; a new database is in its place afterwards, and a sentence for
the user comes out. Promises that the broken file and its log stay byte for byte, under the name
`chats-broken-<date>.db`, and that at every moment, also if power fails in between, either the old file or
the complete new one is at the path or about to be moved there by `finish_replacing`.
Copies whatever columns both databases have, and mends the links between messages; knows nothing else
about what is in them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil

from app.data import branch_links
from app.data.paths import broken_name
from engine.errors import KnownError

# A damaged page hides a range of row ids of unknown length: this many ids in a row without an answer
# are taken for the end of the table.
_MOST_MISSES = 50_000

_ASIDE_SUFFIXES = ("", "-wal", "-shm", "-journal")
Row = tuple[object, ...]
Create = Callable[[Path], sqlite3.Connection]


def log_of(database: Path) -> Path:
    """SQLite's write-ahead log of `database`: what was committed but not yet merged."""
    return database.with_name(f"{database.name}-wal")


def finish_replacing(path: Path) -> str | None:
    """Do the last step of a `replace_broken` that was killed right before it; what to tell the user."""
    if path.exists() or not _rebuilt(path).exists():
        return None
    _set_aside(path)  # a log of the broken database must not be taken for the new one's
    _rebuilt(path).replace(path)
    return (
        "Your chats file was damaged: what could be read was saved, and the damaged file is kept "
        f"in {path.parent}."
    )


def decode(text: bytes) -> str:
    """Stored text, with U+FFFD for what is not valid UTF-8 any more."""
    return text.decode("utf-8", "replace")


def last_message_id(connection: sqlite3.Connection) -> int:
    """The highest id that a message ever had, which only grows; 0 if there is none or it is unreadable."""
    try:
        row = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'messages'").fetchone()
    except sqlite3.DatabaseError:
        return 0
    return row[0] if isinstance(row[0], int) else 0


def replace_broken(path: Path, create: Create) -> str:
    """Put a new database with everything readable in the place of the broken one; what to tell the user.

    `create` makes an empty database. Raises KnownError when another instance still uses the broken one.
    """
    _refuse_while_in_use(path)
    rebuilt = _rebuilt(path)
    for leftover in (rebuilt, log_of(rebuilt)):
        leftover.unlink(missing_ok=True)
    with closing(create(rebuilt)) as new:
        _copy_readable(path, new)
        n_chats, n_messages = (_count(new, table) for table in ("chats", "messages"))
    aside = _set_aside(path)
    rebuilt.replace(path)
    return _notice(aside, n_chats, n_messages)


def _rebuilt(path: Path) -> Path:
    return path.with_name(f"{path.stem}-rebuilt{path.suffix}")


def _notice(aside: Path, n_chats: int, n_messages: int) -> str:
    saved = "no chat could be read from it"
    if n_chats:
        chats, messages = _number_of("chat", n_chats), _number_of("message", n_messages)
        saved = f"{chats} with {messages} could be saved from it"
    return f"Your chats file was damaged: {saved}, and the damaged file is kept as {aside}."


def _number_of(noun: str, n: int) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _refuse_while_in_use(path: Path) -> None:
    # On most systems an open file can be moved away, and its user would go on writing to it unseen.
    in_use = str(path.resolve())
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and any(file.path == in_use for file in process.open_files()):
                raise KnownError(
                    f"The chats in {path} are damaged, and another Weir still uses them. Nothing was "
                    "changed: close the other Weir, then start this one again."
                )


def _set_aside(path: Path) -> Path:
    aside = broken_name(path, _ASIDE_SUFFIXES)
    for suffix in _ASIDE_SUFFIXES:
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{aside}{suffix}")
    return aside


def _copy_readable(path: Path, new: sqlite3.Connection) -> None:
    """Copy what can be read with the log and without it; where both have a row, the newer one."""
    with (
        tempfile.TemporaryDirectory(dir=path.parent, ignore_cleanup_errors=True) as folder,
        closing(_copy_of(path, Path(folder) / "with-log.db", with_log=True)) as with_log,
        closing(_copy_of(path, Path(folder) / "without-log.db", with_log=False)) as without_log,
    ):
        for old in sorted((with_log, without_log), key=last_message_id, reverse=True):
            for table in ("chats", "messages", "attachments", "drafts"):
                _copy_table(old, new, table)
            _mend_links(new)


def _copy_of(path: Path, copy: Path, *, with_log: bool) -> sqlite3.Connection:
    # SQLite may write to what it opens, and the broken file must stay as it is.
    shutil.copyfile(path, copy)
    if with_log and log_of(path).exists():
        shutil.copyfile(log_of(path), log_of(copy))
    if copy.stat().st_size <= 1:
        os.truncate(copy, 4096)  # SQLite deletes the log of an empty database, and everything may be in it
    connection = sqlite3.connect(copy, isolation_level=None)
    # Where a text's bytes are missing, SQLite reads NULs.
    connection.text_factory = lambda text: decode(text).rstrip("\0")
    with contextlib.suppress(sqlite3.DatabaseError):
        # Lets SQLite read a file that is shorter than its header says.
        connection.execute("PRAGMA writable_schema = ON")
    return connection


def _mend_links(new: sqlite3.Connection) -> None:
    new.execute("BEGIN IMMEDIATE")
    branch_links.mend_heads(new)
    branch_links.link_messages(new)
    branch_links.mend_parents(new)
    new.execute("COMMIT")


def _copy_table(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> None:
    old_columns = _columns(old, table)
    columns = [name for name in _columns(new, table) if name in old_columns]
    if not columns:
        return
    insert = _insert(table, columns)
    new.execute("BEGIN IMMEDIATE")
    for row in _readable_rows(old, table, columns):
        values = dict(zip(columns, row, strict=True))
        if table == "messages":
            _make_chat_if_missing(new, values)
        with contextlib.suppress(sqlite3.IntegrityError):
            new.execute(insert, row)
    new.execute("COMMIT")


def _insert(table: str, columns: list[str]) -> str:
    # Messages from before there were branches are linked when all of them are there.
    names, places = [*columns], ["?"] * len(columns)
    if table == "messages" and "parent_id" not in columns:
        names, places = [*names, "parent_id"], [*places, f"{branch_links.UNLINKED}"]
    return f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({', '.join(places)})"


def _make_chat_if_missing(new: sqlite3.Connection, message: dict[str, object]) -> None:
    with contextlib.suppress(sqlite3.IntegrityError):
        new.execute(
            "INSERT OR IGNORE INTO chats (id, title, created_at, updated_at)"
            " VALUES (?, 'Recovered chat', ?, ?)",
            (message.get("chat_id"), message.get("created_at"), message.get("created_at")),
        )


def _readable_rows(old: sqlite3.Connection, table: str, columns: list[str]) -> Iterator[Row]:
    """Every row outside damaged pages, found by going on behind each id that cannot be read."""
    select = f"SELECT rowid, {', '.join(columns)} FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid"
    position, misses = 0, 0
    while misses < _MOST_MISSES:
        try:
            for rowid, *row in old.execute(select, (position,)):
                position, misses = rowid, 0
                yield tuple(row)
            return
        except sqlite3.DatabaseError:
            position, misses = position + 1, misses + 1


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    try:
        return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    except sqlite3.DatabaseError:
        return []


def _count(connection: sqlite3.Connection, table: str) -> int:
    count: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return count
