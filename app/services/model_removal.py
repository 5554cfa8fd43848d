"""Deleting models of the library, with a question wherever something would be lost for good.

Paths go in; what became of it comes out. Promises: the window's thread waits for no disk; nothing is
deleted that is another program's, came with Weir, or is loaded; where there is no trash, nothing is deleted
before somebody has said so once more. Knows nothing about widgets.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.data.installed_model import InstalledModel
from app.data.model_deletion import NoTrash, delete_for_ever, move_to_trash
from app.services.background import Background, Runner
from app.services.library import LibraryService
from engine.errors import KnownError


class ModelRemoval(QObject):
    """Owns the deletions that are going on."""

    deleted = Signal(object)
    """The `InstalledModel` that is gone."""

    failed = Signal(object, str)
    """The `InstalledModel` that was not deleted, and a sentence why."""

    trash_missing = Signal(object, str)
    """The `InstalledModel` that could only be deleted for ever, and a sentence why; `for_ever` does that."""

    def __init__(
        self,
        library: LibraryService,
        in_use: Callable[[], Collection[str]],
        make_runner: Callable[[str], Runner] = Background,
        parent: QObject | None = None,
    ) -> None:
        """`in_use`: paths of the models that are loaded, or being loaded."""
        super().__init__(parent)
        self._library = library
        self._in_use = in_use
        self._runner = make_runner("model-removal")

    def why_not(self, model: InstalledModel) -> str:
        """A sentence why `model` cannot be deleted; empty if it can."""
        if model.real_path:
            return self.tr("It really is {0}, outside of Weir's folders: it is only read there.").format(
                model.real_path
            )
        if not model.can_be_deleted:
            return self.tr("Weir deletes no models that another program keeps, nor the one it came with.")
        if any(_is_same(model.path, Path(path)) for path in self._in_use()):
            return self.tr("{0} is loaded. Load another model first, then delete it.").format(model.name)
        return ""

    def to_trash(self, path: Path) -> None:
        """Move the model at `path` to the trash."""
        self._delete(path, move_to_trash)

    def for_ever(self, path: Path) -> None:
        """Delete the model at `path` without a way back."""
        self._delete(path, delete_for_ever)

    def close(self) -> None:
        """Nothing is told any more."""
        self._runner.close()

    def _delete(self, path: Path, how: Callable[[Path], None]) -> None:
        model = self._library.models.get(path)
        if model is None:
            return
        if reason := self.why_not(model):
            self.failed.emit(model, reason)
            return
        self._runner.run(functools.partial(_try, how, path), functools.partial(self._on_done, model))

    def _on_done(self, model: InstalledModel, error: KnownError | None) -> None:
        match error:
            case NoTrash():
                self.trash_missing.emit(model, str(error))
            case KnownError():
                self.failed.emit(model, str(error))
            case None:
                self._library.drop(model.path)
                self.deleted.emit(model)
        self._library.refresh()


def _try(how: Callable[[Path], None], path: Path) -> KnownError | None:
    try:
        how(path)
    except KnownError as error:
        return error
    return None


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path == other or path.samefile(other)
    except OSError:
        return False
