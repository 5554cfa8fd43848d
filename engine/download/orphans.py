"""Partial files that no queue knows of, as after its file was lost: told as models, so that nothing is lost.

Their records in, `RemoteModel`s out. Of a split model whose later parts were not begun the records do not
say enough; its files stay, and are gone on with once that model is downloaded again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from engine.download.job import job_folder
from engine.download.names import DOWNLOADS_FOLDER
from engine.hub.hub_values import RemoteModel, RemotePart
from engine.hub.repo_names import quantization_of
from engine.models.model_parts import PART_NAME


def orphans(folder: Path, known: Collection[RemoteModel]) -> Iterator[RemoteModel]:
    """The models of partial files in the models `folder` that are none of `known`."""
    jobs = {job_folder(model, folder) for model in known}
    try:
        found = sorted((folder / DOWNLOADS_FOLDER).iterdir())
    except OSError:
        return
    for job in found:
        if job.is_dir() and job not in jobs and (model := _model(job)) and job_folder(model, folder) == job:
            yield model


def _model(job: Path) -> RemoteModel | None:
    records = []
    for number in range(len(list(job.glob("*.json")))):
        try:
            records.append(json.loads((job / f"{number}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError):
            return None
    try:
        return _whole(records) if any(path.stat().st_size for path in job.glob("*.part")) else None
    except (OSError, TypeError, KeyError, ValueError):
        return None


def _whole(records: list[dict[str, Any]]) -> RemoteModel | None:
    """The model of all these parts, None if there are more. Raises TypeError, KeyError or ValueError."""
    parts = tuple(
        RemotePart(str(record["path"]), int(record["size"]), record["sha256"]) for record in records
    )
    split = PART_NAME.fullmatch(parts[0].path) if parts else None
    if not parts or len(parts) != (int(split["count"]) if split else 1):
        return None
    first = records[0]
    return RemoteModel(str(first["repo_id"]), str(first["revision"]), parts, quantization_of(parts[0].path))
