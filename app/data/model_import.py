"""Bringing a model's files into Weir's own folder, by copying or moving them.

The path of the first file goes in, the path of the new one comes out. Promises: room is looked for first; a
file has its final name only once it is whole; what is moved leaves its old place last; an import that is
given up leaves nothing behind. Knows nothing about what the files hold.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from engine.errors import KnownError
from engine.models.byte_reader import shown
from engine.models.library_folders import files_of

SPARE_BYTES = 64 * 2**20
"""So much room is left to others."""

_PIECE_BYTES = 4 * 2**20
_ABANDONED_S = 3600.0
_UNFINISHED_SUFFIX = ".part"

Progress = Callable[[int, int], bool]
"""Is told the bytes that are there and those there will be; False gives the import up."""


def import_model(path: Path, own: Path, *, moves: bool, progress: Progress) -> Path | None:
    """Bring the model at `path` into a folder in `own`; its new path, None if it was given up.

    Raises KnownError where it cannot be read or written, or there is no room; the model is where it was then.
    """
    files = files_of(path)
    if not files:
        raise KnownError(f"{shown(path.name)} is not there any more. Nothing was changed.")
    try:
        folder = _free_folder(own, files)
        if moves and _can_be_renamed(files, folder):
            for file in files:
                file.rename(folder / file.name)
        elif not _copy(files, folder, progress):
            return None
        elif moves:
            for file in files:
                file.unlink()
    except OSError as error:
        raise KnownError(
            f"{shown(path.name)} could not be brought into {own} ({error.strerror or error}). "
            "It is where it was: use it there, or try again."
        ) from error
    return folder / path.name


def _free_folder(own: Path, files: Sequence[Path]) -> Path:
    """The first folder for imports in which nothing has these names: equal names live side by side."""
    folders = (own / ("imported" if n == 1 else f"imported-{n}") for n in itertools.count(1))
    folder = next(folder for folder in folders if not any((folder / file.name).exists() for file in files))
    folder.mkdir(parents=True, exist_ok=True)
    _drop_abandoned(folder)
    return folder


def _can_be_renamed(files: Sequence[Path], folder: Path) -> bool:
    device = folder.stat().st_dev
    return all(not file.is_symlink() and file.stat().st_dev == device for file in files)


def _copy(files: Sequence[Path], folder: Path, progress: Progress) -> bool:
    """Whether all were copied: if not, nothing is left of them."""
    total = sum(file.stat().st_size for file in files)
    free = shutil.disk_usage(folder).free
    if free < total + SPARE_BYTES:
        raise KnownError(
            f"A copy of {shown(files[0].name)} needs {total / 2**30:,.1f} GiB, but only {free / 2**30:,.1f} "
            "GiB are free there. Nothing was changed: use the file where it is, or make room."
        )
    unfinished = [folder / f".{file.name}{_UNFINISHED_SUFFIX}" for file in files]
    try:
        done = 0
        for file, target in zip(files, unfinished, strict=True):
            done = _copy_file(file, target, done, total, progress)
            if done < 0:
                return False
        # The first one last: until then there is no model.
        for file, target in reversed(list(zip(files, unfinished, strict=True))):
            target.rename(folder / file.name)
    finally:
        for target in unfinished:
            target.unlink(missing_ok=True)
    return True


def _copy_file(file: Path, target: Path, done: int, total: int, progress: Progress) -> int:
    """The bytes that are there with this file, -1 if the import was given up."""
    with file.open("rb") as source, target.open("wb") as copy:
        while piece := source.read(_PIECE_BYTES):
            copy.write(piece)
            done += len(piece)
            if not progress(done, total):
                return -1
        copy.flush()
        os.fsync(copy.fileno())
    shutil.copystat(file, target)
    return done


def _drop_abandoned(folder: Path) -> None:
    """Delete what an import has left that was killed."""
    for file in folder.glob(f".*{_UNFINISHED_SUFFIX}"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _ABANDONED_S:
                file.unlink()
