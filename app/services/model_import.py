"""Copying or moving a model into Weir's folder, in the background.

A path goes in, progress and what became of it come out. Promises: one import at a time, in the order in
which they were asked for; cancelling leaves nothing behind. Knows nothing about widgets.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal

from app.data.model_import import import_model
from app.services.background import Background, Runner
from app.services.library import LibraryService
from engine.errors import KnownError

_TELL_EACH_S = 0.1


class ModelImport(QObject):
    """Owns the import that is going on."""

    progress = Signal(object, float)
    """The path of the file that is imported, and how much of it is there, 0 to 1."""

    ended = Signal(object, object)
    """The path that was asked for, and the path of the imported file; None if it was given up."""

    failed = Signal(object, str)
    """The path that was asked for, and a sentence why it is where it was."""

    _copied = Signal(object, float)

    def __init__(
        self,
        library: LibraryService,
        make_runner: Callable[[str], Runner] = Background,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._library = library
        self._runner = make_runner("model-import")
        self._cancelled = threading.Event()
        self._waiting: list[Path] = []
        self._copied.connect(self._on_copied, Qt.ConnectionType.QueuedConnection)

    def start(self, path: Path, *, moves: bool) -> None:
        """Copy or move the model at `path` into Weir's folder."""
        cancelled = self._cancelled
        self._waiting.append(path)
        self._runner.run(
            functools.partial(self._import, path, moves, cancelled),
            functools.partial(self._on_done, path, moves),
        )

    def cancel(self) -> None:
        """Give up what was asked for so far."""
        self._cancelled.set()
        self._cancelled = threading.Event()

    def close(self) -> None:
        """Give it up, and tell nothing any more."""
        self.cancel()
        self._runner.close()

    def _import(self, path: Path, moves: bool, cancelled: threading.Event) -> Path | KnownError | None:
        """On the other thread."""
        told = 0.0

        def on_progress(done: int, total: int) -> bool:
            nonlocal told
            if time.monotonic() - told >= _TELL_EACH_S:
                told = time.monotonic()
                self._copied.emit(path, done / total if total else 1.0)
            return not cancelled.is_set()

        if cancelled.is_set():
            return None
        try:
            return import_model(path, self._library.own, moves=moves, progress=on_progress)
        except KnownError as error:
            return error

    def _on_copied(self, path: Path, fraction: float) -> None:
        if path in self._waiting:
            self.progress.emit(path, fraction)

    def _on_done(self, path: Path, moves: bool, result: Path | KnownError | None) -> None:
        self._waiting.remove(path)
        if isinstance(result, KnownError):
            self.failed.emit(path, str(result))
            return
        if result and moves:
            self._library.forget_file(path)
        self._library.refresh()
        self.ended.emit(path, result)
