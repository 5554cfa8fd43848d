"""Deleting a model: all its files, to the trash or for ever.

The path of its first file goes in. Promises that the files leave one after the other, the first one last,
so that what an interruption leaves is shown as a model with a part missing, or not at all; a download's
record goes with it, and its repository's folder if that is empty then. Whether the model may be deleted is
not decided here.
"""

from __future__ import annotations

from pathlib import Path

import send2trash  # type: ignore[import-untyped]

from app.data.provenance import forget_origin
from engine.errors import KnownError
from engine.models.byte_reader import shown
from engine.models.library_folders import files_of


class NoTrash(KnownError):
    """There is no trash for these files; only deleting them for ever is left."""


def move_to_trash(path: Path) -> None:
    """Move the model's files to the trash. Raises NoTrash; those that are left lie where they were then."""
    for file in reversed(files_of(path)):
        try:
            send2trash.send2trash(file)
            forget_origin(file)
        except OSError as error:  # each system says it with another one
            raise NoTrash(
                f"{shown(file.name)} could not be moved to a trash ({error.strerror or error}). It is "
                "where it was. It can be deleted for ever instead."
            ) from error


def delete_for_ever(path: Path) -> None:
    """Delete the model's files. Raises KnownError, after which those that are left lie where they were."""
    for file in reversed(files_of(path)):
        try:
            file.unlink(missing_ok=True)
            forget_origin(file)
        except OSError as error:
            raise KnownError(
                f"{shown(file.name)} could not be deleted ({error.strerror or error}). It is where it was: "
                "see whether another program uses it, and whether the folder may be written."
            ) from error
