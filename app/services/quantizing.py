"""Quantizing a model of the library, in a worker process of its own, whatever page is in sight.

A path and a kind go in, progress and what came of it come out. Promises: one at a time, beside chats but not
beside a benchmark; cancelling and closing leave nothing behind, and what an earlier Weir has left that was
killed is swept; the new model is noted as made here before the library is told. Knows nothing about widgets.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.data.provenance import note_quantized
from app.services.background import Background, Runner
from app.services.engine_bridge import ClientFactory, EngineBridge
from app.services.quantize_prospects import Prospect
from engine.errors import EngineGone
from engine.models.unfinished_file import sweep
from engine.protocol import EngineDied, Event, Failed, Quantize, QuantizeFinished, QuantizeProgress, QuantKind

_SECONDS_TO_END = 5.0


@dataclass(frozen=True, slots=True)
class QuantizeRun:
    """What is being made: the model called `name`, at `command.path`."""

    command: Quantize
    name: str


class Quantizing(QObject):
    """Owns the run and the worker that does it."""

    changed = Signal()
    """Anything of the properties is different."""

    finished = Signal(object, object)
    """The `QuantizeRun` that was carried out, and the `QuantizeFinished`; the library may look again."""

    failed = Signal(object, str)
    """The `QuantizeRun` that came to nothing, and a sentence why."""

    ended = Signal()
    """Nothing is made any more, for whatever reason: what waited for that may go on."""

    def __init__(
        self,
        folder: Path,
        make_client: ClientFactory,
        obstacle: Callable[[], str] = lambda: "",
        make_runner: Callable[[str], Runner] = Background,
        parent: QObject | None = None,
    ) -> None:
        """`folder`: where new files go. `obstacle`: a sentence why nothing can be made now, or nothing."""
        super().__init__(parent)
        self._folder = folder
        self._make_client = make_client
        self._runner = make_runner("quantizing")
        self._bridge: EngineBridge | None = None
        self._ended: list[EngineBridge] = []
        self.obstacle = obstacle
        self.current: QuantizeRun | None = None
        self.progress: QuantizeProgress | None = None
        self._runner.run(lambda: sweep(folder), lambda _nothing: None)

    @property
    def running(self) -> bool:
        """Whether something is made."""
        return self.current is not None

    def why_not_quit(self) -> str:
        """A question before Weir is left, or nothing."""
        if self.current is None:
            return ""
        words = self.tr("{0} is being quantized. Leaving Weir now gives that up; nothing half is left.")
        return words.format(self.current.name)

    def start(self, path: Path, name: str, kind: QuantKind, prospect: Prospect) -> None:
        """Make what `prospect` says of the model called `name` at `path`. Not while another one is made."""
        if self.running or self.obstacle():
            return
        with contextlib.suppress(OSError):  # the worker says what is wrong there
            self._folder.mkdir(parents=True, exist_ok=True)  # it goes with the last model in it
        command = Quantize(str(path), str(prospect.target), kind)
        self.current, self.progress = QuantizeRun(command, name), None
        self._bridge = EngineBridge(self._make_client, self)
        self._bridge.event_received.connect(self._on_event)
        try:
            self._bridge.send(command)
        except EngineGone as error:
            self._fail(str(error))
        self.changed.emit()

    def cancel(self) -> None:
        """Give it up."""
        if self.running:
            self._end()

    def close(self) -> None:
        """Give it up, and tell nothing any more; the process is gone and swept within some seconds."""
        self._end_worker()
        self.current = None
        self._runner.close()

    def _on_event(self, event: Event) -> None:
        match event:
            case QuantizeProgress():
                self.progress = event
                self.changed.emit()
            case QuantizeFinished():
                self._finish(event)
            case Failed(_, error):
                self._fail(error.message)
            case EngineDied(_, cause):
                sentence = self.tr("The engine stopped while it quantized {0} ({1}). Nothing half is left.")
                self._fail(sentence.format(self.current.name if self.current else "", cause or "?"))

    def _finish(self, event: QuantizeFinished) -> None:
        run = self.current
        assert run is not None  # a closed bridge says nothing
        self._end()
        self._runner.run(
            functools.partial(note_quantized, Path(event.path), run.name),
            lambda _nothing: self.finished.emit(run, event),
        )

    def _fail(self, sentence: str) -> None:
        run = self.current
        self._end()
        self.failed.emit(run, sentence)

    def _end(self) -> None:
        self._end_worker()
        self.current = self.progress = None
        self.changed.emit()
        self.ended.emit()

    def _end_worker(self) -> None:
        if self._bridge is None:
            return
        bridge, self._bridge = self._bridge, None
        bridge.close()
        self._ended.append(bridge)  # closing goes on in a thread of it: it has to stay until then
        # No daemon: also where Weir is left, nothing half must stay.
        threading.Thread(target=_sweep_after, args=(bridge, self._folder), name="quantize-end").start()


def _sweep_after(bridge: EngineBridge, folder: Path) -> None:
    bridge.wait_closed(_SECONDS_TO_END)
    sweep(folder)
