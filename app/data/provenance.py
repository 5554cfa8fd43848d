"""Whether a model's files are those that Weir downloaded or made: their record, against what they are now.

The path of the first file goes in, `Provenance` comes out. Reads the small records that lie beside the files,
never the files themselves; takes a file off them that was deleted, and notes one that was quantized here.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from filelock import Timeout

from app.data.installed_model import Provenance, Verification
from engine.download.job import locked_origins
from engine.download.origin import MAX_DEPTH, Origin, drop_origin, origin_of, read_origins, record_origins
from engine.models.library_folders import files_of


def provenance_of(path: Path) -> Provenance | None:
    """What is known of the model at `path`: verified if all its files are; None if nothing was noted."""
    origins = [origin_of(file) for file in files_of(path)]
    if origins and all(origins):
        checked = all(origin is not None and origin.sha256 for origin in origins)
        known = origins[0]
        assert known is not None
        if known.quantized_from:
            return Provenance("", Verification.MADE_HERE, known.quantized_from)
        return Provenance(known.repo_id, Verification.VERIFIED if checked else Verification.UNVERIFIED)
    recorded = _recorded(path)
    if recorded is None:
        return None
    repo_id = "" if recorded[1].quantized_from else recorded[1].repo_id
    return Provenance(repo_id, Verification.CHANGED, recorded[1].quantized_from)


def note_quantized(path: Path, source: str) -> None:
    """The file at `path` was quantized by Weir, from the model called `source`.

    What the system refuses is left: the model is then one like any other.
    """
    with contextlib.suppress(OSError, Timeout), locked_origins(path.parent.parent):
        status = path.stat()
        origin = Origin(path.parent.name, "", None, status.st_size, status.st_mtime_ns, source)
        record_origins(path.parent, {path.name: origin})


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
