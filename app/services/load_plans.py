"""Whether a model has room here, before it is loaded.

A path and wishes go in; `PlanResult`s come out: counted by formulas within a moment, then with llama.cpp's
own sizes. Promises: reading files, asking devices, counting and dry runs happen off this object's thread; of
what was asked and wished, only the newest is answered, and nothing is counted or tried for what is not
wanted any more. Knows nothing about widgets, and loads nothing.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.data.settings import LoadSettings
from app.services import plan_counting
from app.services.freed_memory import freed_by_unloading
from app.services.gauge_history import GaugeHistory
from app.services.model_engine import ModelEngine
from app.services.model_loader import ModelLoader
from app.services.plan_counting import Known, Tried, counted
from app.services.plan_result import PlanResult, wishes_of
from app.services.plan_sources import PlanSources
from engine.dry_run import Refused
from engine.memory.hardware import Hardware
from engine.memory.memory_plan import ExactSizes, LoadShape, Verdict, Wishes
from engine.models.model_facts import ModelFacts

PAUSE_MS = 400
"""How long the wishes must rest before llama.cpp is asked about them."""

_SECONDS_TO_END = 2.0


class LoadPlans(QObject):
    """Owns what is known of the model that was asked about last."""

    planned = Signal(str, object)
    """The path of the newest question and its `PlanResult`; again when it is exacter."""

    def __init__(
        self,
        sources: PlanSources,
        loader: ModelLoader,
        history: GaugeHistory,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._sources = sources
        self._loader = loader
        self._history = history
        self._looking = sources.make_runner("plan-look")
        self._counting = sources.make_runner("plan-count")
        self._trying = sources.make_runner("plan-dry-run")
        self._asked: tuple[str, Wishes] | None = None
        self._known: Known | None = None
        self._newest: PlanResult | None = None
        self._tried: dict[LoadShape, ExactSizes | Refused | None] = {}
        self._facts: dict[str, ModelFacts] = {}
        self.hardware: Hardware | None = None
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._make_exact)

    def facts_of(self, path: str) -> ModelFacts | None:
        """The facts of a model that was looked at."""
        return self._facts.get(path)

    def ask(self, path: str, wishes: Wishes) -> None:
        """Find out about the model at `path`; answered by `planned`."""
        self._pause.stop()
        self._asked = (path, wishes)
        self._known = None
        self._tried = {}  # the file may be another one by now
        self._looking.run(self._look_job(path), functools.partial(self._on_known, path))

    def wish(self, wishes: Wishes) -> None:
        """Have the model that was asked about otherwise; answered by `planned`."""
        if self._asked:
            self._pause.stop()
            self._asked = (self._asked[0], wishes)
            self._count()

    def look(self, path: str, how: LoadSettings, answer: Callable[[PlanResult | None], None]) -> None:
        """Tell `answer` about a load that nobody looks at; exactly, unless there is ample room."""
        wishes = wishes_of(how)

        def count(known: Known, tried: Tried, then: Callable[[PlanResult | None], None]) -> None:
            self._counting.run(lambda: counted(self._sources, known, wishes, tried), then)

        def on_known(known: Known | None) -> None:
            self._keep(known)
            if known is None:
                answer(None)
            else:
                count(known, {}, functools.partial(on_counted, known))

        def on_counted(known: Known, result: PlanResult | None) -> None:
            if result is None or result.is_settled or _is_ample(result):
                answer(result)
            else:
                self._try(result, lambda shape, found: count(known, {shape: found}, answer))

        self._looking.run(self._look_job(path, self._loader.candidate), on_known)

    def take_hardware(self, hardware: Hardware) -> None:
        """More is known of the machine: its memory was measured. What was asked about is planned anew."""
        self.hardware = hardware
        if self._known and self._known.hardware:
            self._known = dataclasses.replace(self._known, hardware=hardware)
            self._count()

    def close(self) -> None:
        """Nothing is answered any more."""
        self._pause.stop()
        for runner in (self._looking, self._counting, self._trying):
            runner.close()

    # --- looking ----------------------------------------------------------------------------------

    def _look_job(self, path: str, starting: ModelEngine | None = None) -> Callable[[], Known]:
        """`starting` is the engine that shall load it: what it says of the devices needs no other process."""
        info, gauges = self._loader.info, self._history.newest
        devices = gauges.devices if gauges and gauges.devices else info.devices if info else ()
        pid = self._loader.present.bridge.pid if self._loader.present else None
        pids = [] if pid is None else [pid]
        freed = freed_by_unloading(info, gauges)
        sources = self._sources
        if starting and not self._loader.retired.ending:  # else it sees what they still hold
            bridge, probe = starting.bridge, sources.probe_devices
            sources = dataclasses.replace(sources, probe_devices=lambda: bridge.devices() or probe())

        def job() -> Known:
            self._loader.retired.wait(_SECONDS_TO_END)  # what they still hold will be free
            return plan_counting.look(sources, path, devices, freed, pids)

        return job

    def _keep(self, known: Known | None) -> None:
        if known:
            self.hardware = known.hardware or self.hardware
            if known.facts:
                self._facts[known.path] = known.facts

    def _on_known(self, path: str, known: Known | None) -> None:
        self._keep(known)
        if self._asked is None or self._asked[0] != path:
            return
        if known is None:
            self._tell_failure(*self._asked)
        else:
            self._known = known
            self._count()

    # --- counting ---------------------------------------------------------------------------------

    def _count(self) -> None:
        known, asked, tried = self._known, self._asked, dict(self._tried)
        if known is None or asked is None:
            return

        def job() -> PlanResult | None:
            return counted(self._sources, known, asked[1], tried) if self._asked is asked else None

        def done(result: PlanResult | None) -> None:
            if self._asked is not asked or self._known is not known:
                return
            if result is None:
                self._tell_failure(*asked)
            else:
                self._tell(result)

        self._counting.run(job, done)

    def _tell(self, result: PlanResult) -> None:
        self._newest = result
        self.planned.emit(result.path, result)
        if self._newest is not result or result.is_settled:
            return
        if self._tried:
            self._pause.start()
        else:
            self._make_exact()

    def _tell_failure(self, path: str, wishes: Wishes) -> None:
        problem = self.tr("The memory that this model needs could not be counted.")
        self._tell(PlanResult(path, wishes, problem=problem, is_settled=True))

    # --- dry runs ---------------------------------------------------------------------------------

    def _make_exact(self) -> None:
        result, asked = self._newest, self._asked
        if result is None or asked is None or (result.path, result.wishes) != asked or result.is_settled:
            return

        def done(shape: LoadShape, found: ExactSizes | Refused | None) -> None:
            self._tried[shape] = found
            self._count()

        self._try(result, done, still_wanted=lambda: self._asked is asked)

    def _try(
        self,
        result: PlanResult,
        then: Callable[[LoadShape, ExactSizes | Refused | None], None],
        still_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        assert result.plan is not None  # it is not settled
        shape = result.plan.shape

        def job() -> ExactSizes | Refused | None:
            return self._sources.try_out(Path(result.path), shape) if still_wanted() else None

        def done(found: ExactSizes | Refused | None) -> None:
            if still_wanted():
                then(shape, found)

        self._trying.run(job, done)


def _is_ample(result: PlanResult) -> bool:
    return result.plan is not None and result.plan.verdict in (Verdict.FITS, Verdict.FITS_PARTLY)
