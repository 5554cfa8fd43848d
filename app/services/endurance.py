"""Endurance runs of the loaded model: what was chosen -> curves that grow and one report a run.

`start` measures the chosen runs one after the other, each in a worker process of its own; after every
`changed` the properties tell how far it is. Promises: what was measured is kept when a run is stopped,
fails or dies, until the next `start`; a failure ends the runs that were still to come. It knows
nothing about plots, files or chats, beyond whether a reply is being written meanwhile.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.services.endurance_trace import Trace
from app.services.engine_bridge import ClientFactory, EngineBridge
from app.services.model_loader import ModelLoader
from app.services.preferences import Preferences
from engine.errors import EngineGone
from engine.protocol import (
    Cancel,
    EnduranceProgress,
    EnduranceReport,
    EnduranceRun,
    Endure,
    EngineDied,
    Event,
    Failed,
    Finished,
    KVType,
    LoadProgress,
    PrefillProgress,
    Shift,
    TextDelta,
)


@dataclass(frozen=True, slots=True)
class EnduranceChoices:
    """What to measure; `n_ctx` is sinks and window together."""

    runs: tuple[EnduranceRun, ...] = tuple(EnduranceRun)
    n_tokens: int = 5_000
    n_ctx: int = 1024
    n_sinks: int = 4
    shift: Shift = Shift.LAZY
    kv_type: KVType = KVType.F16


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the runs ended: a sentence for the page, and the engine's own words."""

    message: str
    detail: str = ""


class EnduranceMeasurement(QObject):
    """Owns the runs, what they measured, and the worker that measures."""

    changed = Signal()
    """Anything of the properties is different."""

    def __init__(
        self,
        loader: ModelLoader,
        preferences: Preferences,
        make_client: ClientFactory,
        clock: Callable[[], float] = time.monotonic,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._loader = loader
        self._preferences = preferences
        self._make_client = make_client
        self._clock = clock
        self._waiting: list[Endure] = []
        self._n_runs = 0
        self._traces: dict[EnduranceRun, Trace] = {}
        self._bridge: EngineBridge | None = None
        self._ended: list[EngineBridge] = []
        self._started_at = 0.0
        self._replying: set[int] = set()
        self.current: Endure | None = None
        self.loaded_fraction: float | None = None
        self.stopping = False
        self.problem: Problem | None = None
        loader.changed.connect(self.changed)
        loader.event_received.connect(self._on_chat_event)
        loader.engine_lost.connect(self._on_chat_engine_lost)

    # --- what is known ----------------------------------------------------------------------------

    @property
    def traces(self) -> tuple[Trace, ...]:
        """One for each run that has begun, in their order."""
        return tuple(self._traces.values())

    @property
    def reports(self) -> tuple[EnduranceReport, ...]:
        """Those of the runs that have ended."""
        return tuple(trace.report for trace in self._traces.values() if trace.report)

    @property
    def stopped(self) -> tuple[Trace, ...]:
        """Those of the runs that have ended before all was read."""
        current = self.current.run if self.current else None
        return tuple(t for t in self._traces.values() if t.run is not current and t.n_done < t.n_total)

    @property
    def position(self) -> tuple[int, int]:
        """Which run it is, from 1, and of how many."""
        return self._n_runs - len(self._waiting), self._n_runs

    @property
    def disturbed(self) -> bool:
        """Whether a reply is being written while a run is measured."""
        return self.current is not None and bool(self._replying)

    @property
    def tokens_done(self) -> tuple[int, int] | None:
        """Tokens that the current run has read, and of how many; None before the first."""
        trace = self._traces.get(self.current.run) if self.current else None
        return (trace.n_done, trace.n_total) if trace else None

    @property
    def seconds_left(self) -> float | None:
        """Until the current run ends, at the speed so far; None while there is none."""
        done = self.tokens_done
        if done is None or done[0] <= 0:
            return None
        return (self._clock() - self._started_at) / done[0] * (done[1] - done[0])

    # --- what is asked ----------------------------------------------------------------------------

    def start(self, choices: EnduranceChoices) -> None:
        """Measure the loaded model; what was measured before is given up. Not while one runs."""
        info = self._loader.info
        if info is None or self.current:
            return
        n_threads = self._preferences.settings.n_threads
        self._waiting = [
            Endure(
                info.path,
                choices.n_ctx,
                choices.n_tokens,
                choices.n_sinks,
                run,
                choices.shift,
                choices.kv_type,
                n_threads=n_threads,
            )
            for run in choices.runs
        ]
        self._n_runs = len(self._waiting)
        self._traces.clear()
        self.problem = None
        self._begin_next()
        self.changed.emit()

    def stop(self) -> None:
        """End all runs with what was measured; asked twice, at once and without a report."""
        self._n_runs -= len(self._waiting)
        self._waiting.clear()
        if self._bridge and self.tokens_done and not self.stopping:
            self.stopping = True
            with contextlib.suppress(EngineGone):  # then its end is on the way
                self._bridge.send(Cancel(0))
        else:
            self._end_run()
        self.changed.emit()

    def close(self) -> None:
        """End the worker without waiting for it; it is gone within about a second."""
        self._waiting.clear()
        self._end_run()
        self.changed.emit()

    # --- what the worker says ---------------------------------------------------------------------

    def _begin_next(self) -> None:
        if not self._waiting:
            return
        self.current = self._waiting.pop(0)
        self._bridge = EngineBridge(self._make_client, self)
        self._bridge.event_received.connect(self._on_event)
        try:
            self._bridge.send(self.current)
        except EngineGone as error:
            self._on_death(str(error))

    def _end_run(self) -> None:
        if self._bridge:
            self._bridge.close()
            # Closing goes on in a thread of the bridge: it has to stay until then.
            self._ended.append(self._bridge)
        self._bridge = self.current = self.loaded_fraction = None
        self.stopping = False

    def _on_event(self, event: Event) -> None:
        match event:
            case LoadProgress(fraction):
                self.loaded_fraction = fraction
            case EnduranceProgress():
                self._note(event)
            case EnduranceReport():
                self._finish(event)
            case Failed(_, error):
                self._give_up(Problem(error.message, error.detail))
            case EngineDied(_, cause):
                self._on_death(cause)
        self.changed.emit()

    def _note(self, progress: EnduranceProgress) -> None:
        assert self.current is not None  # a closed bridge says nothing
        run = self.current.run
        if run not in self._traces:
            self._started_at = self._clock()
            self._traces[run] = Trace(run, progress.n_total)
        self._traces[run] = self._traces[run].grown(progress)

    def _finish(self, report: EnduranceReport) -> None:
        assert self.current is not None  # a closed bridge says nothing
        run = self.current.run
        self._traces[run] = self._traces.get(run, Trace(run, report.n_tokens)).ended(report)
        self._end_run()
        self._begin_next()

    def _on_death(self, cause: str) -> None:
        sentence = self.tr(
            "The engine stopped in the middle of the measurement. What was measured so far is kept: "
            "run it again, perhaps with a smaller window."
        )
        self._give_up(Problem(sentence, cause))

    def _give_up(self, problem: Problem) -> None:
        self.problem = problem
        self._waiting.clear()
        self._end_run()

    # --- what the chats do meanwhile ----------------------------------------------------------------

    def _on_chat_event(self, event: Event) -> None:
        was_replying = bool(self._replying)
        match event:
            case PrefillProgress() | TextDelta():
                self._replying.add(event.request_id)
            case Finished():
                self._replying.discard(event.request_id)
            case Failed(request_id) if request_id is not None:
                self._replying.discard(request_id)
        if bool(self._replying) != was_replying:
            self.changed.emit()

    def _on_chat_engine_lost(self) -> None:
        self._replying.clear()
        self.changed.emit()
