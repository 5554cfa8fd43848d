"""Benchmarks that were measured: kept in a database of their own until they are deleted.

Records go in with the run that they belong to, runs with their results come out. Promises that nothing is
opened before it is asked for, that a result is stored once `add` returns, that several instances of Weir may
use the file at once, and that a broken file is set aside and a newer one left alone. Knows nothing about how
anything is measured.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from app.data.bench_record import BenchRecord
from app.data.database import BUSY_TIMEOUT_S, OPENING_TIMEOUT_S, transaction
from app.data.inspection import DAMAGE_CODES, pragma, primary_code
from app.data.paths import data_dir
from app.data.set_aside import refuse_while_in_use, set_aside
from engine.errors import KnownError

_APPLICATION_ID = 0x57656262  # "Webb": tells these from the chats and from other programs' databases
_VERSION = 2
_FIELDS = tuple(field.name for field in fields(BenchRecord))


def bench_path() -> Path:
    """The file of the benchmarks. Raises KnownError when its folder cannot be made or written."""
    return data_dir() / "benchmarks.db"


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What all results of one run share; `begun_at` in seconds since 1970, `machine` in words.

    `n_cases`: how many were to be measured, 0 where that was not kept.
    """

    id: str
    begun_at: float
    machine: str
    n_cases: int = 0


@dataclass(frozen=True, slots=True)
class StoredResult:
    """One case of a run; ids grow in the order of measuring and are never used again."""

    id: int
    record: BenchRecord


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run with its results, in the order of measuring; `label` is the user's name for it, or empty.

    `n_measured`: how many cases were measured to their end, also those whose results were deleted since.
    """

    facts: RunFacts
    label: str
    results: tuple[StoredResult, ...]
    n_measured: int = 0

    @property
    def is_stopped(self) -> bool:
        """Whether it ended before all of its cases were measured."""
        return self.n_measured < self.facts.n_cases


class BenchStore:
    """Owns the connection, of one thread. All but `close` raise KnownError where the file cannot be used."""

    def __init__(self, path: Path) -> None:
        """The file is opened, or made, when it is first needed."""
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self.notice: str | None = None
        """One sentence for the user, if a broken file was set aside."""

    def runs(self) -> tuple[StoredRun, ...]:
        """All runs that have results, the newest first; results that cannot be read are passed over."""
        with self._used() as connection:
            rows = connection.execute(
                "SELECT runs.id, begun_at, machine, n_cases, label, n_measured, results.id, record FROM runs"
                " JOIN results ON run_id = runs.id ORDER BY begun_at DESC, runs.id, results.id"
            ).fetchall()
        heads: dict[str, tuple[RunFacts, str, int]] = {}
        results: dict[str, list[StoredResult]] = {}
        for run_id, begun_at, machine, n_cases, label, n_measured, result_id, text in rows:
            with contextlib.suppress(ValueError):
                result = StoredResult(result_id, BenchRecord.from_columns(json.loads(text)))
                heads[run_id] = (RunFacts(run_id, begun_at, machine, n_cases), label, n_measured)
                results.setdefault(run_id, []).append(result)
        return tuple(
            StoredRun(facts, label, tuple(results[run_id]), n_measured)
            for run_id, (facts, label, n_measured) in heads.items()
        )

    def add(self, run: RunFacts, record: BenchRecord) -> StoredResult:
        """Store a result of `run`, which begins with its first one."""
        columns = record.columns()
        text = json.dumps({name: columns[name] for name in _FIELDS}, allow_nan=False)
        with self._used() as connection, transaction(connection):
            connection.execute(
                "INSERT OR IGNORE INTO runs (id, begun_at, machine, n_cases) VALUES (?, ?, ?, ?)",
                (run.id, run.begun_at, run.machine, run.n_cases),
            )
            # Counted as it grows: a run that dies is known as a stopped one too.
            connection.execute(
                "UPDATE runs SET n_measured = n_measured + ? WHERE id = ?", (not record.aborted, run.id)
            )
            cursor = connection.execute(
                "INSERT INTO results (run_id, record) VALUES (?, ?) RETURNING id", (run.id, text)
            )
            [(result_id,)] = cursor.fetchall()
        return StoredResult(result_id, record)

    def set_label(self, run_id: str, label: str) -> None:
        """Call a run `label`; empty takes its name away."""
        with self._used() as connection, transaction(connection):
            connection.execute("UPDATE runs SET label = ? WHERE id = ?", (label, run_id))

    def delete(self, result_ids: Sequence[int]) -> None:
        """Delete these results, and the runs that have none left."""
        with self._used() as connection, transaction(connection):
            connection.executemany("DELETE FROM results WHERE id = ?", [(id_,) for id_ in result_ids])
            connection.execute("DELETE FROM runs WHERE id NOT IN (SELECT run_id FROM results)")

    def close(self) -> None:
        """Let the file go; it is opened again if it is needed again."""
        if self._connection:
            self._connection.close()
            self._connection = None

    # --- the file ---------------------------------------------------------------------------------

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        with _explained(self._path):
            if self._connection is None:
                self._connection = self._open()
            yield self._connection

    def _open(self) -> sqlite3.Connection:
        with _one_opener_at_a_time(self._path):
            if self._path.exists() and not _is_sound(self._path):
                self._set_aside()
            return _connect(self._path)

    def _set_aside(self) -> None:
        try:
            refuse_while_in_use(self._path)
        except KnownError as error:
            raise KnownError(
                f"The benchmarks in {self._path} are damaged, and another Weir still uses them. Nothing was "
                "changed: close the other Weir, then try again."
            ) from error
        aside = set_aside(self._path, "broken")
        self.notice = (
            f"The file of your benchmarks was damaged: it is kept as {aside}, and new results go into "
            "a new one."
        )


def _is_sound(path: Path) -> bool:
    """Whether this is a database of benchmarks. Raises KnownError for one of a newer Weir."""
    # Read only: opening a foreign file for writing may change it.
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
            is_ours = pragma(connection, "application_id") == _APPLICATION_ID
            version = pragma(connection, "user_version")
            is_whole = connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    except sqlite3.DatabaseError as error:
        if primary_code(error) in DAMAGE_CODES:
            return False
        raise
    if is_ours and version > _VERSION:
        raise KnownError(
            f"The benchmarks in {path} were made by a newer Weir. They were left as they are: use the newer "
            "Weir, or move the file away."
        )
    return is_ours and is_whole


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    with contextlib.ExitStack() as on_error:
        on_error.callback(connection.close)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")
        if pragma(connection, "user_version") < _VERSION:
            with transaction(connection):
                _bring_up_to_date(connection)
        on_error.pop_all()
    return connection


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    if pragma(connection, "user_version") < 1:
        _make_tables(connection)
    for column in ("n_cases", "n_measured"):
        connection.execute(f"ALTER TABLE runs ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _make_tables(connection: sqlite3.Connection) -> None:
    """Those of the first version."""
    connection.execute(
        "CREATE TABLE runs (id TEXT PRIMARY KEY, begun_at REAL NOT NULL, machine TEXT NOT NULL,"
        " label TEXT NOT NULL DEFAULT '')"
    )
    connection.execute(
        "CREATE TABLE results (id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, record TEXT NOT NULL)"
    )
    connection.execute("CREATE INDEX results_of_run ON results (run_id)")
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")


@contextmanager
def _one_opener_at_a_time(path: Path) -> Iterator[None]:
    # As with the chats: else a second instance could set aside what the first has just made.
    lock_file = path.with_name(f"{path.name}-opening.lock")
    with closing(sqlite3.connect(lock_file, timeout=OPENING_TIMEOUT_S, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what the disk or another program did into a KnownError with one sentence."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
            raise
        raise KnownError(
            f"The benchmarks in {path} could not be read or written ({error}). What was stored before is "
            "left as it is: check the disk and the folder's permissions, then try again."
        ) from error
