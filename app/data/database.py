"""The SQLite database of the chats: opening, migrating, writing.

A path goes in; a connection with the newest tables comes out, with a sentence for the user if something
had to be repaired. Promises:
- what was committed with `durable` survives a crash of Weir, of the system, and a loss of power;
- a broken database, or one of a newer Weir, is never overwritten: `salvage` sets it aside and saves what
  can be read;
- a new database is at its path only once it is complete, so that an empty file there is a broken one;
- several instances of Weir may open and write the same database at once.

Knows nothing about chats beyond the tables that the migrations make.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.data import migrations, salvage
from app.data.inspection import DAMAGE_CODES, Condition, inspect, pragma, primary_code
from app.data.readable_rows import decode
from app.data.set_aside import log_of
from engine.errors import KnownError

BUSY_TIMEOUT_S = 10.0  # how long to wait for another instance's write, which takes milliseconds
OPENING_TIMEOUT_S = 60.0  # how long to wait while another instance migrates or salvages


@dataclass(frozen=True, slots=True)
class OpenResult:
    """An open database; `notice` is one sentence for the user, None if there is nothing to tell."""

    connection: sqlite3.Connection
    notice: str | None


def open_database(path: Path) -> OpenResult:
    """Open the database at `path`, making, migrating or rescuing it as needed.

    Raises KnownError when it cannot be read or written.
    """
    return open_if_sound(path) or OpenResult(*_rescued_and_opened(path))


def open_if_sound(path: Path) -> OpenResult | None:
    """Open the database at `path`, making or migrating it as needed; None if it must be rescued first.

    Raises KnownError when it cannot be read or written.
    """
    with explained(path), _one_opener_at_a_time(path):
        notice = salvage.finish_replacing(path)
        if inspect(path) is not Condition.SOUND:
            return None
        if not path.exists():
            _create(path)
        return OpenResult(_open_for_writing(path), notice)


def rescue(path: Path) -> str | None:
    """Set a broken or newer database aside and save what can be read; what to tell the user.

    None if it is sound, perhaps because another instance has rescued it. May take seconds, in any
    thread. Raises KnownError when that fails, or another instance still uses the database.
    """
    with explained(path), _one_opener_at_a_time(path):
        condition = inspect(path)
        if condition is Condition.SOUND:
            return None
        return salvage.replace(path, _open_for_writing, is_newer=condition is Condition.NEWER)


def open_rescued(path: Path) -> sqlite3.Connection:
    """Open the database that `rescue` has just left, without looking through it once more."""
    with explained(path):
        return _open_for_writing(path)


def _rescued_and_opened(path: Path) -> tuple[sqlite3.Connection, str | None]:
    notice = rescue(path)
    return open_rescued(path), notice


def _create(path: Path) -> None:
    """Put an empty database at `path`, whole or not at all."""
    new = path.with_name(f"{path.stem}-new{path.suffix}")
    for leftover in (new, log_of(new)):
        leftover.unlink(missing_ok=True)
    _open_for_writing(new).close()
    new.replace(path)


@contextmanager
def transaction(connection: sqlite3.Connection, *, durable: bool = True) -> Iterator[None]:
    """Everything inside is committed together, or not at all.

    On leaving, the change survives a crash of Weir; with `durable` it survives a loss of power too, for
    the price of waiting for the disk.
    """
    # In WAL mode only FULL syncs at each commit. A later FULL commit syncs the earlier ones with it.
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything that is read inside is of one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")  # there is nothing to commit


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the disk or another program did to the database into a KnownError with one sentence.

    Wrong use of SQL by Weir itself (ProgrammingError, IntegrityError) passes unchanged.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
            raise
        raise KnownError(_sentence(error, path)) from error
    except OSError as error:
        raise KnownError(
            f"The chats in {path} could not be opened ({error.strerror or error}). Nothing was changed: "
            "check the folder, then start Weir again."
        ) from error


def _sentence(error: sqlite3.DatabaseError, path: Path) -> str:
    code = primary_code(error)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return (
            "Another program is using Weir's chats and did not let go. What was stored is safe: "
            "close the other program, then try again."
        )
    if code == sqlite3.SQLITE_FULL:
        return (
            f"The disk of {path.parent} is full, so nothing more could be stored. What was stored before "
            "is safe: free some space, then try again."
        )
    if code in DAMAGE_CODES:
        return (
            f"The chats in {path} are damaged. Start Weir again: it keeps the damaged file and saves "
            "every chat that can still be read."
        )
    return (
        f"The chats in {path} could not be read or written ({error}). What was stored before is left "
        "as it is: check the disk and the folder's permissions, then try again."
    )


@contextmanager
def _one_opener_at_a_time(path: Path) -> Iterator[None]:
    # Else a second instance could set aside the database that the first has just rebuilt. SQLite's lock
    # on an empty file is the one that works on every platform and goes away with a killed process.
    lock_file = path.with_name(f"{path.name}-opening.lock")
    with closing(sqlite3.connect(lock_file, timeout=OPENING_TIMEOUT_S, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def _open_for_writing(path: Path) -> sqlite3.Connection:
    """Open for writing, with the newest tables."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    with contextlib.ExitStack() as on_error:
        on_error.callback(connection.close)
        # A byte that went bad in one text must not hide the whole chat.
        connection.text_factory = decode
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: a plain fsync does not reach the disk
        _migrate(connection)
        on_error.pop_all()
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    for version in range(pragma(connection, "user_version"), len(migrations.MIGRATIONS)):
        with transaction(connection):
            migrations.MIGRATIONS[version](connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")
