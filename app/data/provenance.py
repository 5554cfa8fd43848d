"""Whether a model's files are those that Weir downloaded: their record, held against what they are now.

The path of the first file goes in, `Provenance` comes out. Reads the small records that downloads leave
beside their files, never the files themselves.
"""

from __future__ import annotations

from pathlib import Path

from app.data.installed_model import Provenance, Verification
from engine.download.origin import MAX_DEPTH, Origin, origin_of, read_origins
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
    return Provenance(recorded.repo_id, Verification.CHANGED) if recorded else None


def _recorded(path: Path) -> Origin | None:
    """What the file at `path` was when it was downloaded."""
    for folder in list(path.parents)[:MAX_DEPTH]:
        if origin := read_origins(folder).get(path.relative_to(folder).as_posix()):
            return origin
    return None
