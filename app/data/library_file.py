"""What the library keeps between two starts: labels, single files, and what headers said.

One JSON object; `Kept` goes in and out. Promises: the file is replaced in one step; what cannot be used in
it is passed over, and a file that holds no object at all is set aside. Knows nothing about folders.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.data.json_file import read_object, write_object
from app.data.paths import broken_name
from engine.errors import KnownError
from engine.models import scanned_model
from engine.models.scanned_model import ScannedModel

LONGEST_LABEL = 120


@dataclass(frozen=True, slots=True)
class Kept:
    """`labels`: the user's names by path; `files`: models that are used where they are; `models`: by path."""

    labels: Mapping[Path, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    models: Mapping[Path, ScannedModel] = field(default_factory=dict)


class LibraryFile:
    """The file at `path`. It is read and written whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Kept:
        """What was kept; nothing where there is no file, or none that can be read."""
        try:
            stored = read_object(self._path)
        except OSError:
            return Kept()
        except (ValueError, RecursionError):
            with contextlib.suppress(OSError):  # the next one would replace it, and the labels in it
                self._path.replace(broken_name(self._path))
            return Kept()
        found = (scanned_model.from_json(item) for item in _list(stored.get("models")))
        return Kept(
            labels={Path(path): label for path, label in _labels(stored.get("labels"))},
            files=tuple(Path(path) for path in _list(stored.get("files")) if isinstance(path, str) and path),
            models={model.path: model for model in found if model},
        )

    def save(self, kept: Kept) -> None:
        """Store it. Raises KnownError when the file cannot be written."""
        stored = {
            "labels": {str(path): label for path, label in kept.labels.items()},
            "files": [str(path) for path in kept.files],
            "models": [scanned_model.to_json(model) for model in kept.models.values()],
        }
        try:
            write_object(self._path, stored, indent=None)
        except OSError as error:
            raise KnownError(
                f"The list of your models could not be stored in {self._path} ({error.strerror or error}). "
                "No model was changed: check the disk."
            ) from error


def as_label(text: str) -> str:
    """What a user typed as a name, in one line and not too long."""
    return " ".join(text.split())[:LONGEST_LABEL]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _labels(value: object) -> list[tuple[str, str]]:
    stored = value.items() if isinstance(value, dict) else ()
    return [(path, as_label(label)) for path, label in stored if isinstance(label, str) and as_label(label)]
