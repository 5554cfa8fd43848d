"""Work that takes long enough to be seen, off the window's thread.

A job goes in with what shall be done with its result; that is called on this object's thread. Promises: jobs
run one after the other, in order; nothing is called any more after `close`, which waits for nothing. Knows
nothing about what the jobs do.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
import traceback
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QObject, Qt, Signal

Result = TypeVar("Result")


class Runner(Protocol):
    """What a service needs of its `Background`."""

    def run(self, job: Callable[[], Result], then: Callable[[Result | None], None]) -> None:
        """Do `job` some time soon and call `then` with its result; None where it failed."""

    def close(self) -> None:
        """Nothing is called any more."""


class Background(QObject):
    """Owns a thread, which starts with the first job and is no obstacle to the end of the program."""

    _done = Signal(object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]] | None] = (
            queue.SimpleQueue()
        )
        self._thread: threading.Thread | None = None
        self._closed = False
        self._done.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def run(self, job: Callable[[], Result], then: Callable[[Result | None], None]) -> None:
        """Do `job` after those before it and call `then` on this object's thread."""
        if self._closed:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self._jobs.put((job, then))

    def close(self) -> None:
        """What runs may end, but nothing is told of it."""
        self._closed = True
        self._jobs.put(None)

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None and not self._closed:
            job, then = item
            result = None
            try:
                result = job()
            except Exception:  # a fault in there must not keep a model from being loaded
                traceback.print_exc()
            with contextlib.suppress(RuntimeError):  # perhaps this object is being destroyed at exit
                self._done.emit(functools.partial(then, result))

    def _deliver(self, call: Callable[[], None]) -> None:
        if not self._closed:
            call()
