"""Whether a model's files are those that Weir downloaded: their record, held against what they are now.

The path of the first file goes in, `Provenance` comes out. Reads the small records that downloads leave
beside their files, never the files themselves; takes a file off them that was deleted.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from app.data.installed_model import Provenance, Verification
from engine.download.job import locked_origins
from engine.download.origin import MAX_DEPTH, Origin, drop_origin, origin_of, read_origins
from engine.models.library_folders import files_of


def provenance_of(path: Path) -> Provenance | None:
    """What is known of the model at `path`: verified if all its files are; None if it was not downloaded."""
    origins = [origin_of(file) for file in files_of(path)]
    if origins and all(origins):
        checked = all(origin is not None and origin.sha256 for origin in origins)
        known = origins[0]
        assert known is not None
        return Provenance(known.repo_id, Verification.VERIFIED if checked else Verification.UNVERIFIED)
    recorded = _recorded(path)
    return Provenance(recorded[1].repo_id, Verification.CHANGED) if recorded else None


def forget_origin(path: Path) -> None:
    """The download at `path` was deleted: so is its record, and its repository's folder if it is empty now.

    What the system refuses stays, and harms nobody.
    """
    if (recorded := _recorded(path)) is None:
        return
    folder, origin = recorded
    names = tuple(origin.repo_id.split("/"))
    if folder.parts[-len(names) :] != names:  # somebody has moved it
        return
    top = folder.parents[len(names) - 1]
    with contextlib.suppress(OSError), locked_origins(top):
        drop_origin(folder, path.relative_to(folder).as_posix())
        for emptied in path.parents[: path.parents.index(top)]:
            emptied.rmdir()  # raises while something is in it


def _recorded(path: Path) -> tuple[Path, Origin] | None:
    """The repository's folder of the file at `path`, and what the file was when it was downloaded."""
    for folder in list(path.parents)[:MAX_DEPTH]:
        if origin := read_origins(folder).get(path.relative_to(folder).as_posix()):
            return folder, origin
    return None
