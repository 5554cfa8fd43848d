"""What is asked before something happens to a model's files.

Models and dropped files go in, questions are asked on a `QuestionLine`, and what was answered is given to
the services. Promises that no file is deleted, moved or copied without an answer. Knows nothing about the
list.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from app.data.installed_model import InstalledModel
from app.services.library import LibraryService
from app.services.model_import import ModelImport
from app.services.model_removal import ModelRemoval
from app.views import number_format
from app.views.question_line import QuestionLine


class LibraryQuestions(QObject):
    """Asks on `line`."""

    def __init__(
        self, line: QuestionLine, library: LibraryService, removal: ModelRemoval, imports: ModelImport
    ) -> None:
        super().__init__(line)
        self._line = line
        self._library = library
        self._removal = removal
        self._imports = imports
        removal.trash_missing.connect(self._on_trash_missing)
        removal.failed.connect(lambda _model, reason: line.tell(reason))
        imports.failed.connect(lambda _path, reason: line.tell(reason))

    def delete(self, model: InstalledModel) -> None:
        """Ask whether `model` shall go to the trash."""
        if reason := self._removal.why_not(model):
            self._line.tell(reason)
            return
        self._line.ask(
            self.tr("Move {0} ({1}, {2}) to the trash?").format(
                model.name, model.place, number_format.size(model.scanned.size)
            ),
            [
                (self.tr("Move to the trash"), lambda: self._removal.to_trash(model.path)),
                (self.tr("Keep"), _nothing),
            ],
        )

    def take_files(self, paths: Sequence[Path]) -> None:
        """Ask what shall become of files and folders that were dropped, or chosen."""
        folders = [path for path in paths if path.is_dir()]
        files = [path for path in paths if path not in folders and path.suffix.lower() == ".gguf"]
        for folder in folders:
            self._library.add_folder(folder)
        if files:
            self._ask_where(files)
        elif not folders:
            self._line.tell(self.tr("Weir loads models from .gguf files. Nothing was changed."))

    def _ask_where(self, files: Sequence[Path]) -> None:
        names = files[0].name if len(files) == 1 else self.tr("these {0} files").format(len(files))
        self._line.ask(
            self.tr("Use {0} where it is, or bring it into Weir's folder?").format(names),
            [
                (self.tr("Use it there"), lambda: self._library.use_files(files)),
                (self.tr("Copy"), lambda: self._import(files, moves=False)),
                (self.tr("Move"), lambda: self._import(files, moves=True)),
                (self.tr("Cancel"), _nothing),
            ],
        )

    def _import(self, files: Sequence[Path], *, moves: bool) -> None:
        for file in files:
            self._imports.start(file, moves=moves)

    def _on_trash_missing(self, model: InstalledModel, reason: str) -> None:
        self._line.ask(
            reason,
            [
                (self.tr("Delete for ever"), lambda: self._removal.for_ever(model.path)),
                (self.tr("Keep"), _nothing),
            ],
            calm=False,
        )


def _nothing() -> None:
    """Nothing is to be done."""
