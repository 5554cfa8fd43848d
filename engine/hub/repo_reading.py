"""What the Hub's answer about a repository means: the library's `ModelInfo` in, our values out.

The library takes most fields as they come, so each is looked at before it is believed. Raises ValueError,
TypeError, KeyError or AttributeError for what cannot be a repository; the caller says whose answer it was.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from engine.hub.hub_values import Gating, RemotePart, RepoDetails, RepoSummary
from engine.hub.repo_names import is_repo_id, models_of, weights_format

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_GATING = {"auto": Gating.AUTO, "manual": Gating.MANUAL, True: Gating.MANUAL}
_RELATIONS = ("adapter", "finetune", "merge", "quantized")


def summary_of(info: ModelInfo) -> RepoSummary:
    """One repository as a list of them, or its own page, describes it."""
    if not is_repo_id(info.id):
        raise ValueError("this is no repository's name")
    tags = _tags(info)
    return RepoSummary(
        repo_id=info.id,
        weights_format=weights_format(info.id, tags),
        downloads=_count(info.downloads),
        likes=_count(info.likes),
        last_modified=info.last_modified if isinstance(info.last_modified, datetime.datetime) else None,
        license=_license(tags, _card(info)),
        gating=_GATING.get(info.gated, Gating.NONE) if isinstance(info.gated, str | bool) else Gating.NONE,
    )


def details_of(info: ModelInfo) -> RepoDetails:
    """A repository with its models, at the commit that it was read at."""
    summary = summary_of(info)
    if not isinstance(info.sha, str) or not _COMMIT.fullmatch(info.sha):
        raise ValueError("this is no commit")
    models = models_of(summary.repo_id, info.sha, _files(info))
    return RepoDetails(summary, info.sha, models, tuple(_based_on(info)))


def _files(info: ModelInfo) -> Iterator[RemotePart]:
    for sibling in info.siblings or ():
        size = _count(sibling.lfs.size if sibling.lfs else sibling.size)
        if not isinstance(sibling.rfilename, str) or size is None:
            continue
        sha256 = sibling.lfs.sha256 if sibling.lfs else None
        is_sha = isinstance(sha256, str) and _SHA256.fullmatch(sha256)
        yield RemotePart(sibling.rfilename, size, sha256 if is_sha else None)


def _based_on(info: ModelInfo) -> Iterator[str]:
    named = _card(info).get("base_model")
    if not named:
        named = [
            tag.rpartition(":")[2]
            for tag in _tags(info)
            if tag.startswith("base_model:") and tag.split(":")[1] not in _RELATIONS
        ]
    for repo_id in dict.fromkeys([named] if isinstance(named, str) else named):
        if isinstance(repo_id, str) and is_repo_id(repo_id) and "/" in repo_id:
            yield repo_id


def _license(tags: list[str], card: dict[str, Any]) -> str | None:
    tagged = next((tag.removeprefix("license:") for tag in tags if tag.startswith("license:")), None)
    # Licenses that the Hub does not know are tagged "other", and named by the owner.
    named = card.get("license_name") if tagged in (None, "other") else None
    return named if isinstance(named, str) and named else tagged


def _card(info: ModelInfo) -> dict[str, Any]:
    return {} if info.card_data is None else dict(info.card_data.to_dict())  # type: ignore[no-untyped-call]


def _tags(info: ModelInfo) -> list[str]:
    return [tag for tag in info.tags or () if isinstance(tag, str)]


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
