"""From verified partial files to a model in its place: the first part last, so that no half model is there.

An existing file is never overwritten: either it is the part already, or the name is taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from engine.download.download_errors import NameTaken
from engine.download.job import locked_origins
from engine.download.names import repo_folder
from engine.download.origin import Origin, origin_of, record_origins
from engine.download.partial import hash_of
from engine.hub.hub_values import RemoteModel, RemotePart


def is_in_place(model: RemoteModel, part: RemotePart, path: Path, read: Callable[[int], None]) -> bool:
    """Whether `part` lies at `path` already; it is hashed, telling `read`, unless its origin is known.

    Raises NameTaken if anything else is there, and OSError.
    """
    if not os.path.lexists(path):
        return False
    if path.is_file() and path.stat().st_size == part.size:
        origin = origin_of(path)
        if part.sha256 is None:
            if origin is not None and (origin.repo_id, origin.revision) == (model.repo_id, model.revision):
                return True
        elif (origin.sha256 if origin else hash_of(path, read)) == part.sha256:
            return True
    raise NameTaken(path.name)


def place(model: RemoteModel, finals: Sequence[Path], partials: Sequence[Path | None], folder: Path) -> None:
    """Move `partials`, closed and on the disk, to their final names; None for parts that are in place.

    What was checked is recorded before, since moving keeps a file's time: after a crash in between, the parts
    that were moved are known. Raises NameTaken or OSError.
    """
    root = repo_folder(model.repo_id, folder)
    for final in finals:
        final.parent.mkdir(parents=True, exist_ok=True)
    origins = {
        final.relative_to(root).as_posix(): _origin(model, part, partial or final)
        for part, final, partial in zip(model.parts, finals, partials, strict=True)
    }
    with locked_origins(folder):
        record_origins(root, origins)
    for final, partial in reversed(list(zip(finals, partials, strict=True))):
        if partial is None:
            continue
        if os.path.lexists(final):
            raise NameTaken(final.name)
        partial.rename(final)
        _sync_folder(final.parent)


def _origin(model: RemoteModel, part: RemotePart, path: Path) -> Origin:
    status = path.stat()
    return Origin(model.repo_id, model.revision, part.sha256, status.st_size, status.st_mtime_ns)


def _sync_folder(folder: Path) -> None:
    """Make the names in `folder` last, where the system can be asked for it."""
    if os.name != "nt":
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
