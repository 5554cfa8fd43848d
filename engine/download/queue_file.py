"""The queue on the disk: `.downloads/queue.json` in the models folder, beside the partial files.

Several processes of Weir share it. Each writes what it has changed and leaves the rest as it finds it, under
a lock; readers need none, since the file is replaced in one step. What cannot be read is set aside, never
overwritten. Downloads that are done are not in it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from engine.download.names import DOWNLOADS_FOLDER
from engine.download.partial import write_json
from engine.download.queue_entry import Failure
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RemoteModel, RemotePart

LOCK_S = 5.0
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class StoredDownload:
    """An unfinished download; neither `paused` nor with a `failure`, it was running or in line."""

    model: RemoteModel
    paused: bool = False
    failure: Failure | None = None
    without_token: bool = False

    @property
    def id(self) -> str:
        """The model's."""
        return self.model.id


class QueueFile:
    """The file in the models `folder`; for any thread."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / DOWNLOADS_FOLDER / "queue.json"

    @property
    def stamp(self) -> tuple[int, int, int] | None:
        """Differs once the file was written again; None where there is none."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return (status.st_ino, status.st_mtime_ns, status.st_size)

    def read(self) -> tuple[StoredDownload, ...] | None:
        """All that is stored, in order; None where there is no file that can be read."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            if found["format"] != _FORMAT:
                return None
            stored = (_read(fields) for fields in found["downloads"])
            return tuple(item for item in stored if item is not None)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def update(
        self, put: Sequence[StoredDownload], gone: Collection[str] = (), order: Sequence[str] = ()
    ) -> None:
        """Store `put` in place of what was there of them, and forget the ids in `gone`.

        Those of `order` come first, in that order. Raises OSError, also where another process holds the lock.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Its Timeout is an OSError too.
        with FileLock(self._path.with_name("queue.lock"), timeout=LOCK_S):
            stored = self.read()
            if stored is None:
                self._set_aside()
            kept = {item.id: item for item in stored or () if item.id not in gone}
            kept.update((item.id, item) for item in put)
            rank = {id_: number for number, id_ in enumerate(order)}
            items = sorted(kept.values(), key=lambda item: rank.get(item.id, len(rank)))
            write_json(self._path, {"format": _FORMAT, "downloads": [asdict(item) for item in items]})

    def _set_aside(self) -> None:
        with suppress(OSError):
            self._path.replace(self._path.with_name("queue-unreadable.json"))


def _read(fields: Any) -> StoredDownload | None:
    """One download; None for what is none, as after a change by hand."""
    try:
        failure = fields["failure"]
        return StoredDownload(
            model=_model(fields["model"]),
            paused=bool(fields["paused"]),
            failure=None if failure is None else _failure(failure),
            without_token=bool(fields["without_token"]),
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def _model(fields: Mapping[str, Any]) -> RemoteModel:
    """Raises ValueError, TypeError or KeyError."""
    parts = tuple(
        RemotePart(_text(part["path"]), int(part["size"]), _text_or_none(part["sha256"]))
        for part in fields["parts"]
    )
    if not parts or any(part.size < 0 for part in parts):
        raise ValueError("a model has parts")
    return RemoteModel(
        repo_id=_text(fields["repo_id"]),
        revision=_text(fields["revision"]),
        parts=parts,
        quantization=_text_or_none(fields["quantization"]),
        missing=tuple(_text(name) for name in fields["missing"]),
    )


def _failure(fields: Mapping[str, Any]) -> Failure:
    known = {str(remedy) for remedy in Remedy}
    remedies = tuple(Remedy(name) for name in fields["remedies"] if name in known)
    return Failure(_text(fields["reason"]), remedies, _text_or_none(fields["page"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)
