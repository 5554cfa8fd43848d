"""Looking through the library off the window's thread, some models at a time.

Places and what was kept go in, models come out as they are found. Promises: nothing of a look that was
replaced by another is told any more; a look costs the thread of this object only what its models do. Knows
nothing about what becomes of the models.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.data.installed_model import InstalledModel
from app.services.background import Runner
from engine.models.library_folders import SkippedFolder

SLICE_S = 0.1
"""How long is looked before what was found is told."""

Contents = Callable[[], Iterator[InstalledModel | SkippedFolder]]


@dataclass(frozen=True, slots=True)
class _Slice:
    models: tuple[InstalledModel, ...]
    skipped: tuple[SkippedFolder, ...]
    is_last: bool


class LibraryScanning(QObject):
    """Owns the look that is going on."""

    found = Signal(object)
    """A tuple of `InstalledModel`s."""

    ended = Signal(object)
    """The look is over: a tuple of the `SkippedFolder`s that were met."""

    def __init__(self, runner: Runner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runner = runner
        self._current: object | None = None
        self._skipped: list[SkippedFolder] = []

    @property
    def is_running(self) -> bool:
        """Whether more may be found."""
        return self._current is not None

    def start(self, contents: Contents) -> None:
        """Look through `contents`, which is made and asked on the other thread, in place of the last one."""
        self._skipped = []
        self._current = look = _Look(contents)
        self._go_on(look)

    def stop(self) -> None:
        """Nothing is told any more."""
        self._current = None

    def _go_on(self, look: _Look) -> None:
        self._runner.run(look.slice, lambda part: self._on_slice(look, part))

    def _on_slice(self, look: _Look, part: _Slice | None) -> None:
        if look is not self._current:
            return
        if part is None or part.is_last:
            self._current = None
        if part:
            self._skipped += part.skipped
            if part.models:
                self.found.emit(part.models)
        if self._current is look:
            self._go_on(look)
        elif self._current is None:
            self.ended.emit(tuple(self._skipped))


class _Look:
    """On the other thread alone."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._iterator: Iterator[InstalledModel | SkippedFolder] | None = None

    def slice(self) -> _Slice:
        if self._iterator is None:
            self._iterator = self._contents()
        models, skipped, is_last = [], [], True
        until = time.monotonic() + SLICE_S
        for item in self._iterator:
            skipped.append(item) if isinstance(item, SkippedFolder) else models.append(item)
            if time.monotonic() >= until:
                is_last = False
                break
        return _Slice(tuple(models), tuple(skipped), is_last)
