"""A database that this Weir cannot use: moved out of the way, whole.

The path of a database goes in; the path where it is kept comes out. Promises that it stays byte for byte
together with its log, under a name that was not used, and that none is taken away from a process that has
it open. Knows nothing about what is in it.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import shutil
from pathlib import Path

import psutil

from engine.errors import KnownError

_COMPANIONS = ("-wal", "-shm", "-journal")


def log_of(database: Path) -> Path:
    """SQLite's write-ahead log of `database`: what was committed but not yet merged."""
    return database.with_name(f"{database.name}-wal")


def set_aside(path: Path, why: str) -> Path:
    """Move the database at `path` with its log to `chats-<why>-<date>.db`, which is returned."""
    aside = _unused_name(path, why)
    # The log is copied first and deleted last: whenever this is killed, no database is without its log.
    for suffix in _COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{path}{suffix}", f"{aside}{suffix}")
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
    for suffix in _COMPANIONS:
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    return aside


def refuse_while_in_use(path: Path) -> None:
    """Raise KnownError if another process has the database at `path` open."""
    # On most systems an open file can be moved away, and its user would go on writing to it unseen.
    in_use = str(path.resolve())
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and any(file.path == in_use for file in process.open_files()):
                raise KnownError(
                    f"The chats in {path} are damaged or were made by a newer Weir, and another Weir still "
                    "uses them. Nothing was changed: close the other Weir, then start this one again."
                )


def _unused_name(path: Path, why: str) -> Path:
    stem = f"{path.stem}-{why}-{datetime.date.today().isoformat()}"
    names = (path.with_name(f"{stem}{'' if n == 1 else f'-{n}'}{path.suffix}") for n in itertools.count(1))
    suffixes = ("", *_COMPANIONS)
    return next(name for name in names if not any(Path(f"{name}{suffix}").exists() for suffix in suffixes))
