"""Where model files lie: folders in, each model's first file out, with the size and time of its parts.

Folders are searched to a bounded depth, each one once, however links lead back to it, and so is each file:
the cache of Hugging Face's tools links one file from several places. A folder that cannot be searched is
named, and the search goes on. Files that are named like parts of a split model are one model, of which the
first part that is there is named; what only looks so is told apart when one model is asked for, by the one
header that is read here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from engine.models.byte_reader import shown
from engine.models.model_parts import PART_NAME, is_whole_by_itself

MAX_DEPTH = 8  # the hub's own cache is four deep
MAX_FOLDERS = 20_000

_Identity = tuple[int, int]  # of a folder or file: its device, and its number there

UNFINISHED = ".downloads"
"""The folder inside Weir's own where downloads grow until they are whole; never searched."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model of `size` bytes in all its parts; `mtime_ns` is the newest part's, 0 if it cannot be told."""

    path: Path
    size: int
    mtime_ns: int
    files: tuple[Path, ...] = field(default=(), compare=False)
    """All its parts, as their names say."""


@dataclass(frozen=True, slots=True)
class SkippedFolder:
    """A folder that was not searched, or not to its end; `reason` is a sentence."""

    path: Path
    reason: str


def find_models(folders: Iterable[Path]) -> Iterator[FoundModel | SkippedFolder]:
    """All `*.gguf` in `folders` and below, by name in each folder; what was met before is passed."""
    seen: set[_Identity] = set()
    seen_files: set[_Identity] = set()
    for folder in folders:
        yield from _search(folder, seen, seen_files)


def files_of(path: Path) -> tuple[Path, ...]:
    """The files that make up the model whose first file is `path`, as far as they are there."""
    return tuple(Path(part) for part in _parts(path))


def model_at(path: Path) -> FoundModel:
    """The model whose first file is `path`, of 0 bytes where there is none."""
    parts = _parts(path)
    return _found(parts) if parts else FoundModel(path, 0, 0)


def _parts(path: Path) -> list[os.DirEntry[str]]:
    try:
        files, _ = _listing(path.parent)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return []
    found = (parts for parts in _grouped(files) if any(part.name == path.name for part in parts))
    parts = next(found, [])
    if len(parts) > 1 and is_whole_by_itself(Path(parts[0])):
        return [part for part in parts if part.name == path.name]
    return parts


def _search(
    top: Path, seen: set[_Identity], seen_files: set[_Identity]
) -> Iterator[FoundModel | SkippedFolder]:
    waiting = [(top, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            if not _is_new(folder, seen):
                continue
            files, subfolders = _listing(folder)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            yield SkippedFolder(folder, f"{shown(folder.name)} cannot be searched ({_cause(error)}).")
            continue
        yield from _models(files, seen_files)
        if subfolders and depth == MAX_DEPTH:
            reason = f"{shown(folder.name)} lies {MAX_DEPTH} folders deep: what is below it was not searched."
            yield SkippedFolder(folder, reason)
        elif subfolders and len(seen) + len(waiting) + len(subfolders) > MAX_FOLDERS:
            reason = (
                f"{shown(folder.name)} and others hold over {MAX_FOLDERS:,} folders: choose a smaller one."
            )
            yield SkippedFolder(folder, reason)
        else:
            waiting.extend((path, depth + 1) for path in reversed(subfolders))


def _is_new(folder: Path, seen: set[_Identity]) -> bool:
    """Whether `folder` is met for the first time: a link may lead back to a folder above it."""
    status = folder.stat()
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        return False
    seen.add(identity)
    return True


def _listing(folder: Path) -> tuple[list[os.DirEntry[str]], list[Path]]:
    """The model files and the folders in `folder`, by name."""
    files, subfolders = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _is_folder(entry):
                if entry.name != UNFINISHED:
                    subfolders.append(Path(entry))
            elif entry.name.lower().endswith(".gguf"):
                files.append(entry)
    return sorted(files, key=lambda entry: entry.name), sorted(subfolders)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _models(files: Iterable[os.DirEntry[str]], seen: set[_Identity]) -> Iterator[FoundModel]:
    """One for each file that is new, but one for all the parts of a split model."""
    for parts in _grouped(files):
        if _is_new_file(parts[0], seen):
            yield _found(parts)


def _grouped(files: Iterable[os.DirEntry[str]]) -> Iterable[list[os.DirEntry[str]]]:
    models: dict[tuple[str, str], list[os.DirEntry[str]]] = {}
    for entry in files:
        part = PART_NAME.fullmatch(entry.name)
        models.setdefault((part["prefix"], part["count"]) if part else (entry.name, ""), []).append(entry)
    return models.values()


def _is_new_file(entry: os.DirEntry[str], seen: set[_Identity]) -> bool:
    """Whether the file is met for the first time, under whatever name."""
    try:
        status = entry.stat()
    except OSError:
        return True
    identity = (status.st_dev, status.st_ino)
    if status.st_ino and identity in seen:  # 0 where the system does not tell it with the listing: Windows
        return False
    seen.add(identity)
    return True


def _found(parts: list[os.DirEntry[str]]) -> FoundModel:
    path = Path(parts[0])
    try:
        status = [part.stat() for part in parts]
    except OSError:  # a link that leads nowhere, or a file that was deleted just now
        return FoundModel(path, 0, 0)
    size, mtime_ns = sum(part.st_size for part in status), max(part.st_mtime_ns for part in status)
    return FoundModel(path, size, mtime_ns, tuple(Path(part) for part in parts))


def _cause(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
