"""Where a file in the models folder came from, and that its bytes were checked, or were made here.

`.weir-origin.json` lies in a repository's folder and names its files with the size, the time and the hash
that they had when they were moved there. A file that was touched since has no origin any more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.download.names import ORIGIN_FILE
from engine.download.partial import write_json

MAX_DEPTH = 8  # folders above the file that are looked into
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Origin:
    """One file as it was when its bytes were checked; `mtime_ns` since the epoch.

    `quantized_from`: the name of the model that Weir has made it of; nothing was downloaded then, and
    `repo_id` names the folder.
    """

    repo_id: str
    revision: str
    sha256: str | None
    size: int
    mtime_ns: int
    quantized_from: str | None = None


def origin_of(path: Path) -> Origin | None:
    """Where the file at `path` came from; None if that is unknown, or the file is gone or has changed."""
    path = path.absolute()
    for folder in list(path.parents)[:MAX_DEPTH]:
        name = path.relative_to(folder).as_posix()
        origin = read_origins(folder).get(name)
        if origin is not None:
            return origin if _is_as_it_was(path, origin) else None
    return None


def read_origins(repo_folder: Path) -> dict[str, Origin]:
    """The record in `repo_folder`, by file name; empty where there is none that can be read."""
    try:
        stored = json.loads((repo_folder / ORIGIN_FILE).read_text(encoding="utf-8"))
        return {str(name): Origin(**fields) for name, fields in _files(stored).items()}
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


def record_origins(repo_folder: Path, origins: Mapping[str, Origin]) -> None:
    """Add `origins`, by file name, to the record in `repo_folder`. Raises OSError.

    The caller sees to it that no two do this at once.
    """
    _write(repo_folder, read_origins(repo_folder) | dict(origins))


def drop_origin(repo_folder: Path, name: str) -> None:
    """Take the file called `name` off the record, and the record away with its last file. Raises OSError.

    The caller sees to it as for `record_origins`.
    """
    left = {other: origin for other, origin in read_origins(repo_folder).items() if other != name}
    if left:
        _write(repo_folder, left)
    else:
        (repo_folder / ORIGIN_FILE).unlink(missing_ok=True)


def _write(repo_folder: Path, origins: Mapping[str, Origin]) -> None:
    files = {name: asdict(origin) for name, origin in origins.items()}
    write_json(repo_folder / ORIGIN_FILE, {"format": _FORMAT, "files": files})


def _files(stored: Any) -> dict[str, Any]:
    files = stored.get("files") if isinstance(stored, dict) else None
    return files if isinstance(files, dict) else {}


def _is_as_it_was(path: Path, origin: Origin) -> bool:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False
    return (status.st_size, status.st_mtime_ns) == (origin.size, origin.mtime_ns)
