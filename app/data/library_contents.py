"""All models of the library, one after the other: the starter, those in the folders, single files.

Places and what was kept of an earlier look go in, `InstalledModel`s come out, each header read again only
after its file has changed. A generator: the caller decides how much to do at a time. Knows nothing about
Qt, nor about how a model fits into this machine.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.data.installed_model import InstalledModel, Provenance
from app.data.library_file import Kept
from engine.models.known_folders import (
    OTHER_PROGRAMS,
    ModelFolder,
    ModelSource,
    folder_of,
    path_outside,
    repository_in_path,
    subfolder_in_path,
)
from engine.models.library_folders import SkippedFolder, files_of
from engine.models.library_scan import scan, scan_file
from engine.models.model_parts import PART_NAME
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
        yield _with_provenance(_found(found, places, kept), provenance_of)
    for path in kept.files:
        if folder_of(path, places.folders).source is ModelSource.FILE:
            yield _installed(scan_file(path, kept.models), ModelSource.FILE, kept, None)


def _is_wanted(folder: ModelFolder) -> bool:
    return folder.source is ModelSource.FOLDER or os.path.isdir(folder.path)  # noqa: PTH112 - never raises


def _found(scanned: ScannedModel, places: Places, kept: Kept) -> InstalledModel:
    folder = folder_of(scanned.path, places.folders)
    # Other programs' models are read only, wherever they lie.
    outside = None if folder.source in OTHER_PROGRAMS else _outside(scanned.path, folder)
    source = ModelSource.LINKED if outside else folder.source
    model = _installed(scanned, source, kept, repository_in_path(scanned.path, folder))
    return dataclasses.replace(model, subfolder=subfolder_in_path(scanned.path, folder), real_path=outside)


def _outside(path: Path, folder: ModelFolder) -> Path | None:
    """Where the first of the model's files lies that a link in `folder` leads out of it to."""
    files = files_of(path) if PART_NAME.fullmatch(path.name) else (path,)
    found = (path_outside(file, folder.path) for file in files)
    return next((outside for outside in found if outside), None)


def _installed(scanned: ScannedModel, source: ModelSource, kept: Kept, repo_id: str | None) -> InstalledModel:
    return InstalledModel(scanned, source, kept.labels.get(scanned.path), repo_id)


def _with_provenance(model: InstalledModel, provenance_of: ProvenanceOf) -> InstalledModel:
    known = provenance_of(model.path) if model.source is ModelSource.WEIR else None
    if known is None:
        return model
    return dataclasses.replace(
        model,
        repo_id=known.repo_id or model.repo_id,
        verification=known.verification,
        quantized_from=known.quantized_from,
    )
