"""The models in some folders: each header read once, and again only after its file has changed.

A generator: the caller decides how much to do at a time, and may stop at any model. A broken file, or one
that cannot chat, comes with its reason instead of an error. Who keeps the results is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from engine.errors import ModelFileError
from engine.models.byte_reader import shown
from engine.models.library_folders import FoundModel, SkippedFolder, find_models, model_at
from engine.models.model_facts import ModelKind, facts_of
from engine.models.model_parts import headers_of, is_whole_by_itself
from engine.models.scanned_model import ScannedModel


def scan(
    folders: Iterable[Path], known: Mapping[Path, ScannedModel]
) -> Iterator[ScannedModel | SkippedFolder]:
    """Every model in `folders` and below, and each folder that could not be searched.

    `known`: results of an earlier scan, by their path; taken over where size and time are still the same.
    """
    for found in find_models(folders):
        if isinstance(found, SkippedFolder):
            yield found
        else:
            yield from _models(found, known)


def scan_file(path: Path, known: Mapping[Path, ScannedModel]) -> ScannedModel:
    """The one model whose first file is `path`, there or not; `known` as for `scan`."""
    return _known_or_read(model_at(path), known)


def _models(found: FoundModel, known: Mapping[Path, ScannedModel]) -> Iterator[ScannedModel]:
    """One model, unless files that are named like parts of one say that they are none."""
    if len(found.files) > 1 and not _is_known(found, known) and is_whole_by_itself(found.path):
        for file in found.files:
            yield _known_or_read(model_at(file), known)
    else:
        yield _known_or_read(found, known)


def _known_or_read(found: FoundModel, known: Mapping[Path, ScannedModel]) -> ScannedModel:
    return known[found.path] if _is_known(found, known) else _read(found)


def _is_known(found: FoundModel, known: Mapping[Path, ScannedModel]) -> bool:
    before = known.get(found.path)
    times = (before.size, before.mtime_ns) if before else None
    return found.mtime_ns != 0 and times == (found.size, found.mtime_ns)


def _read(found: FoundModel) -> ScannedModel:
    try:
        facts = facts_of(headers_of(found.path))
    except ModelFileError as error:
        # What the system refuses now it may allow later, and the file's time will be the same.
        mtime_ns = 0 if isinstance(error.__cause__, OSError) else found.mtime_ns
        name = shown(found.path.stem)
        return ScannedModel(found.path, found.size, mtime_ns, name, ModelKind.OTHER, reason=str(error))
    return ScannedModel(
        found.path,
        found.size,
        found.mtime_ns,
        shown(facts.name),
        facts.kind,
        shown(facts.architecture),
        facts.quantization,
        facts.n_params,
        facts.n_ctx_train,
        facts.reason,
    )
