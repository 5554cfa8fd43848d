"""Benchmarks from the window: what was chosen -> one worker a model, one after the other -> stored results.

`start` measures; after every `changed` the properties tell how far it is, and each result is kept as soon
as it is there. Promises: nothing is measured while a reply is written or a model is loaded, nor where there
is no room; the chat's model is only unloaded when the user says so, and comes back afterwards; what was
measured is kept when the run is stopped, fails or dies. Knows nothing about widgets, files or chats.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.data.bench_rating import Machine, learn, rated
from app.data.bench_record import BenchRecord
from app.data.bench_store import RunFacts
from app.data.settings import LoadSettings
from app.services.bench_choices import BenchChoices
from app.services.bench_results import BenchResults, describe_machine
from app.services.bench_room import Answer, BenchProblem, BenchRoom, InTheWay, Ready
from app.services.engine_bridge import ClientFactory, EngineBridge
from app.services.load_plans import LoadPlans
from app.services.model_loader import ModelLoader
from app.services.notice import Notice, NoticeAction
from app.services.plan_sources import PlanSources
from engine.errors import EngineGone, KnownError
from engine.protocol import (
    Bench,
    BenchFinished,
    BenchProgress,
    BenchResult,
    Cancel,
    EngineDied,
    Event,
    Failed,
    LoadProgress,
)


class Benchmarks(QObject):
    """Owns the run and the worker that measures."""

    changed = Signal()
    """Anything of the properties is different."""

    ended = Signal()
    """Nothing is measured any more: what waited for that may go on."""

    def __init__(
        self,
        loader: ModelLoader,
        plans: LoadPlans,
        sources: PlanSources,
        make_client: ClientFactory,
        results: BenchResults,
        *,
        unload: Callable[[], None],
        others_at_work: Callable[[], bool] = lambda: False,
        parent: QObject | None = None,
    ) -> None:
        """`unload` ends the chat's engine at once.

        `others_at_work`: whether something else of Weir computes; `go_on` has to be called when it ends.
        """
        super().__init__(parent)
        self._loader = loader
        self._calibrations = sources.calibrations
        self._make_client = make_client
        self._results = results
        self._unload = unload
        self._room = BenchRoom(loader, plans, sources, self)
        self._bridge: EngineBridge | None = None
        self._ended: list[EngineBridge] = []
        self._waiting: list[Bench] = []
        self._known: Ready | None = None
        self._run = RunFacts("", 0.0, "")
        self._unloaded: tuple[str, LoadSettings] | None = None
        self._is_begun = False
        self.others_at_work = others_at_work
        self.n_models = 0
        self.current: Bench | None = None
        self.progress: BenchProgress | None = None
        self.loaded_fraction: float | None = None
        self.records: list[BenchRecord] = []
        self.asks_to_unload = False
        self.stopping = False
        self.problems: list[BenchProblem] = []
        loader.changed.connect(self.go_on)

    @property
    def running(self) -> bool:
        """Whether something is measured or about to be: chats have to wait."""
        return self.current is not None or bool(self._waiting)

    @property
    def waits_for_others(self) -> bool:
        """Whether it begins as soon as what is being written or loaded is complete."""
        return self.current is None and bool(self._waiting)

    @property
    def position(self) -> tuple[int, int]:
        """Which model it is, from 1, and of how many."""
        return self.n_models - len(self._waiting), self.n_models

    @property
    def notice(self) -> Notice:
        """What to tell somebody whose message has to wait."""
        sentence = self.tr("A benchmark is running: your message is sent when it is done, or stop it.")
        return Notice(sentence, action=NoticeAction.STOP_BENCHMARK, calm=True)

    # --- what is asked ----------------------------------------------------------------------------

    def start(self, choices: BenchChoices) -> None:
        """Measure `choices`; what the run before has measured stays stored. Not while one runs."""
        if self.running:
            return
        self.problems, self.records = [], []
        try:
            self._waiting = [*choices.commands()]
        except KnownError as error:
            self.problems.append(BenchProblem(str(error)))
        self.n_models = len(self._waiting)
        self._is_begun = self.running
        self._run = RunFacts(
            uuid.uuid4().hex, time.time(), "", sum(len(command.cases) for command in self._waiting)
        )
        self.go_on()
        self.changed.emit()

    def go_on(self) -> None:
        """Something else may have ended: begin what waits."""
        if self.waits_for_others and not self.others_at_work() and self._loader.loading is None:
            self.current = self._waiting.pop(0)
            self.changed.emit()
            self._look()

    def stop(self) -> None:
        """End the run with what was measured; asked twice, at once and without the newest case."""
        self.n_models -= len(self._waiting)
        self._waiting.clear()
        if self._bridge and self.progress and not self.stopping:
            self.stopping = True
            with contextlib.suppress(EngineGone):  # then its end is on the way
                self._bridge.send(Cancel(0))
            self.changed.emit()
        else:
            self._end_model()

    def unload(self) -> None:
        """Make room: the chat's model goes until the run has ended."""
        present = self._loader.present
        if not self.asks_to_unload or present is None:
            return
        self.asks_to_unload = False
        self._unloaded = (present.path, present.how)
        self._unload()
        self._look()
        self.changed.emit()

    def close(self) -> None:
        """End the worker without waiting for it; nothing comes back and nothing is stored any more."""
        self._waiting.clear()
        self._unloaded, self._is_begun = None, False
        self._end_model()
        self._room.close()
        self._results.close()

    # --- is there room ----------------------------------------------------------------------------

    def _look(self) -> None:
        command = self.current
        assert command is not None
        self._room.ask(command, lambda answer: self._on_room(command, answer))

    def _on_room(self, command: Bench, answer: Answer) -> None:
        if self.current is not command:
            return  # stopped meanwhile
        match answer:
            case Ready():
                self._known = answer
                self._measure(command)
            case InTheWay():
                self.asks_to_unload = True
                self.changed.emit()
            case BenchProblem():
                self._skip(answer)

    # --- the worker -------------------------------------------------------------------------------

    def _measure(self, command: Bench) -> None:
        self._bridge = EngineBridge(self._make_client, self)
        self._bridge.event_received.connect(self._on_event)
        try:
            self._bridge.send(command)
        except EngineGone as error:
            self._on_death(str(error))

    def _on_event(self, event: Event) -> None:
        match event:
            case LoadProgress(fraction):
                self.loaded_fraction = fraction
            case BenchProgress():
                self.progress = event
            case BenchResult():
                self._keep(event)
            case BenchFinished():
                self._end_model()
            case Failed(_, error):
                self._skip(BenchProblem(error.message, error.detail))
            case EngineDied(_, cause):
                self._on_death(cause)
        self.changed.emit()

    def _keep(self, result: BenchResult) -> None:
        assert self._known is not None  # nothing is measured before
        machine = Machine(self._known.hardware, self._calibrations)
        record = rated(result, self._known.facts, machine)
        learn(record, result, self._known.facts, machine)
        self.records.append(record)
        run = self._run = replace(self._run, machine=describe_machine(result.machine))
        self._results.add(run, record)
        known = {problem.message for problem in self.problems}
        self.problems += [BenchProblem(sentence) for sentence in result.notices if sentence not in known]

    def _on_death(self, cause: str) -> None:
        path = self.current.path if self.current else ""
        sentence = self.tr(
            "The engine stopped while it measured {0}. What was measured so far is kept: try again, perhaps "
            "with shorter prompts."
        ).format(Path(path).stem)
        self._skip(BenchProblem(sentence, cause))

    def _skip(self, problem: BenchProblem) -> None:
        """Go on with the next model."""
        self.problems.append(problem)
        self._end_model()

    def _end_model(self) -> None:
        if self._bridge:
            self._bridge.close()
            self._ended.append(self._bridge)  # closing goes on in a thread of it: it has to stay until then
        self._bridge = self.current = self.progress = self.loaded_fraction = self._known = None
        self.stopping = self.asks_to_unload = False
        self.go_on()
        if self._is_begun and not self.running:
            self._is_begun = False
            if self.records:
                self._results.end_run()
            self._bring_back()
            self.ended.emit()
        self.changed.emit()

    def _bring_back(self) -> None:
        unloaded, self._unloaded = self._unloaded, None
        if unloaded and self._loader.info is None and self._loader.loading is None:
            self._loader.load(*unloaded)
