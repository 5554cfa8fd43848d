"""All models of the library, one after the other: the starter, those in the folders, single files.

Places and what was kept of an earlier look go in, `InstalledModel`s come out, each header read again only
after its file has changed. A generator: the caller decides how much to do at a time. Knows nothing about
Qt, nor about how a model fits into this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.data.installed_model import InstalledModel, Provenance
from app.data.library_file import Kept
from engine.models.known_folders import ModelFolder, ModelSource, folder_of, repository_in_path
from engine.models.library_folders import SkippedFolder
from engine.models.library_scan import scan, scan_file
from engine.models.scanned_model import ScannedModel

ProvenanceOf = Callable[[Path], Provenance | None]
"""What is known of the file at a path, None if Weir has not downloaded it."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where models are looked for: `folders` in order, and the starter's file."""

    folders: tuple[ModelFolder, ...]
    starter: Path | None = None


def contents(
    places: Places, kept: Kept, provenance_of: ProvenanceOf
) -> Iterator[InstalledModel | SkippedFolder]:
    """Every model, and each folder that could not be searched; broken ones with their reason.

    A folder that is not there is passed over, unless the user added it.
    """
    if places.starter:
        yield _installed(scan_file(places.starter, kept.models), ModelSource.STARTER, kept, None)
    for found in scan([folder.path for folder in places.folders if _is_wanted(folder)], kept.models):
        if isinstance(found, SkippedFolder):
            yield found
            continue
        folder = folder_of(found.path, places.folders)
        model = _installed(found, folder.source, kept, repository_in_path(found.path, folder))
        yield _with_provenance(model, provenance_of)
    for path in kept.files:
        if folder_of(path, places.folders).source is ModelSource.FILE:
            yield _installed(scan_file(path, kept.models), ModelSource.FILE, kept, None)


def _is_wanted(folder: ModelFolder) -> bool:
    return folder.source is ModelSource.FOLDER or folder.path.is_dir()


def _installed(scanned: ScannedModel, source: ModelSource, kept: Kept, repo_id: str | None) -> InstalledModel:
    return InstalledModel(scanned, source, kept.labels.get(scanned.path), repo_id)


def _with_provenance(model: InstalledModel, provenance_of: ProvenanceOf) -> InstalledModel:
    known = provenance_of(model.path) if model.source is ModelSource.WEIR else None
    if known is None:
        return model
    return InstalledModel(model.scanned, model.source, model.label, known.repo_id, known.verification)
