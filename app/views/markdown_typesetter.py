"""Hands formulas and code to the typesetting process, and keeps what came back.

Tasks go in with `request`, `ready` tells when one is done, `result` gives it. Nothing here blocks: the
process is started by the first task, ended when a task takes too long (which then has no result) and
when it had nothing to do for a while. Results are kept up to a size, the oldest are dropped first. Knows
nothing about messages.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections import OrderedDict
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QProcess, QProcessEnvironment, Qt, QTimer, Signal
from shiboken6 import isValid

from app.views.markdown_typesetting import (
    FormulaDrawing,
    FormulaTask,
    HighlightTask,
    Result,
    Task,
    decode_result,
    encode_task,
)

_LIMIT_MS = 4_000
"""For one task; the first pays for starting the process and loading a library."""

_FIRST_LIMIT_MS = 20_000
_IDLE_MS = 60_000
_KEPT_CHARACTERS = 4_000_000
_MAX_WAITING = 500
_ROOT = Path(__file__).parents[2]


class Typesetter(QObject):
    """Owns the typesetting process and the results."""

    ready = Signal(object)
    """The `Task` that is done; `result` says how."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._results: OrderedDict[Task, Result] = OrderedDict()
        self._kept = 0
        self._waiting: OrderedDict[Task, None] = OrderedDict()
        self._current: Task | None = None
        self._process: QProcess | None = None
        self._answered: set[type] = set()
        self._limit = QTimer(self, singleShot=True)
        self._limit.timeout.connect(self._give_up)
        self._idle = QTimer(self, singleShot=True)
        self._idle.timeout.connect(self.stop)

    def request(self, task: Task) -> None:
        """Have `task` done; asking again while it waits changes nothing."""
        if task in self._results or task == self._current:
            return
        self._waiting[task] = None
        if len(self._waiting) > _MAX_WAITING:
            self._waiting.popitem(last=False)
        self._work()

    def is_done(self, task: Task) -> bool:
        """Whether `task` has a result, which may be None."""
        return task in self._results

    def result(self, task: Task) -> Result:
        """The result of `task`; None if it is not done, or cannot be."""
        if task in self._results:
            self._results.move_to_end(task)
        return self._results.get(task)

    def stop(self) -> None:
        """End the process at once and forget what waits. The next task starts another one."""
        self._waiting.clear()
        self._current = None
        self._limit.stop()
        self._idle.stop()
        process, self._process = self._process, None
        if process is not None:
            process.blockSignals(True)
            process.kill()
            process.waitForFinished(1000)
            process.deleteLater()

    def _work(self) -> None:
        if self._current is not None or not self._waiting:
            return
        self._current, _ = self._waiting.popitem(last=False)
        process = self._process = self._process or self._start()
        self._idle.stop()
        known = type(self._current) in self._answered
        self._limit.start(_LIMIT_MS if known else _FIRST_LIMIT_MS)
        process.write(encode_task(self._current))

    def _start(self) -> QProcess:
        self._answered.clear()
        process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        paths = filter(None, (str(_ROOT), environment.value("PYTHONPATH")))
        environment.insert("PYTHONPATH", os.pathsep.join(paths))
        process.setProcessEnvironment(environment)
        process.setStandardErrorFile(QProcess.nullDevice())
        process.readyReadStandardOutput.connect(self._read)
        # Queued: a process that cannot be started says so before `start` returns.
        process.finished.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)
        process.errorOccurred.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)
        process.start(sys.executable, ["-P", "-m", "app.views.markdown_typesetting_process"])
        return process

    def _read(self) -> None:
        if self._process is None or not self._process.canReadLine():
            return
        self._done(decode_result(bytes(self._process.readLine().data())))

    def _done(self, result: Result) -> None:
        task, self._current = self._current, None
        self._limit.stop()
        self._idle.start(_IDLE_MS)
        if task is not None:
            self._answered.add(type(task))
            self._keep(task, result)
            self._work()
            self.ready.emit(task)

    def _on_ended(self) -> None:
        # A report of an earlier process may arrive while the next one runs.
        if self._process is not None and self._process.state() is QProcess.ProcessState.NotRunning:
            self._give_up()

    def _give_up(self) -> None:
        """The task takes too long, or the process ended over it: it has no result. Others go on."""
        task, waiting = self._current, self._waiting.copy()
        self.stop()
        self._current, self._waiting = task, waiting
        self._done(None)

    def _keep(self, task: Task, result: Result) -> None:
        self._results[task] = result
        self._kept += _size(task, result)
        while self._kept > _KEPT_CHARACTERS and len(self._results) > 1:
            self._kept -= _size(*self._results.popitem(last=False))


def typesetter() -> Typesetter:
    """The application's one typesetter, made when it is first needed."""
    application = QCoreApplication.instance()
    assert application is not None  # there are widgets
    found = application.findChild(Typesetter)
    if found is None:
        found = Typesetter(application)
        application.aboutToQuit.connect(found.stop)
        atexit.register(_stop, found)
    return found


def _stop(found: Typesetter) -> None:
    """Where nobody quits the application: Qt would wait for the process when Python is gone already."""
    if isValid(found):
        found.stop()


def _size(task: Task, result: Result) -> int:
    """About how many bytes a task and its result take."""
    if isinstance(task, HighlightTask):
        return len(task.code) * 10
    assert isinstance(task, FormulaTask)
    return len(task.latex) + (len(result.svg) if isinstance(result, FormulaDrawing) else 0) + 200
