"""Whether a model has room here, before it is loaded.

A path and wishes go in; `PlanResult`s come out: counted by formulas within a moment, then with llama.cpp's
own sizes. Promises: reading files, asking devices and dry runs happen off this object's thread; of what
was asked by `ask`, only the newest question is answered; another context or KV type is priced at once from
what is known. Knows nothing about widgets, and loads nothing.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.data.settings import LoadSettings
from app.data.settings_parsing import ALL_LAYERS
from app.services.freed_memory import freed_by_unloading
from app.services.gauge_history import GaugeHistory
from app.services.model_loader import ModelLoader
from app.services.plan_result import PlanResult, wishes_of
from app.services.plan_sources import PlanSources
from engine.errors import KnownError
from engine.memory.hardware import Hardware
from engine.memory.memory_plan import ExactSizes, LoadShape, MemoryPlan, Verdict, Wishes
from engine.models.model_facts import ModelFacts
from engine.protocol import DeviceMemory, KVType

PAUSE_MS = 400
"""How long the wishes must rest before llama.cpp is asked about them."""

_SECONDS_TO_END = 2.0
_SMALLER_TYPES = {KVType.F16: (KVType.Q8_0, KVType.Q4_0), KVType.Q8_0: (KVType.Q4_0,), KVType.Q4_0: ()}


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    """A file and the machine, looked at for one question; `problem` is why there are no facts."""

    path: str
    freed: Mapping[str, int]
    devices: Sequence[DeviceMemory] = ()
    facts: ModelFacts | None = None
    hardware: Hardware | None = None
    problem: str = ""


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
        self._trying = sources.make_runner("plan-dry-run")
        self._known: _Known | None = None
        self._asked: tuple[str, Wishes] | None = None
        self._exact: dict[tuple[str, LoadShape], ExactSizes | None] = {}
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
        self._exact.clear()  # the file may be another one by now
        self._looking.run(self._look_job(path), functools.partial(self._on_known, path))

    def price(self, wishes: Wishes) -> PlanResult | None:
        """The plan for other wishes, at once; `planned` follows with the exact one. None while unknown."""
        if self._known is None or self._asked is None:
            return None
        self._asked = (self._known.path, wishes)
        result = self._result(self._known, wishes)
        if not result.is_settled:
            self._pause.start()
        return result

    def what_would_fit(self) -> tuple[Wishes, ...]:
        """Of a plan that does not fit, the nearest changes that do: of layers, KV type and context."""
        if self._known is None or self._asked is None:
            return ()
        known, wishes = self._known, self._asked[1]
        result = self._result(known, wishes)
        if result.plan is None or not result.does_not_fit:
            return ()
        by_layers = [dataclasses.replace(wishes, n_gpu_layers=ALL_LAYERS)] if wishes.n_gpu_layers > 0 else []
        by_type = [dataclasses.replace(wishes, kv_type=kind) for kind in _SMALLER_TYPES[wishes.kv_type]]
        n_ctx = result.plan.n_ctx_fitting
        by_context = [dataclasses.replace(wishes, n_ctx=n_ctx)] if n_ctx else []
        found = ([w for w in tries if self._fits(known, w)] for tries in (by_layers, by_type, by_context))
        return tuple(fitting[0] for fitting in found if fitting)

    def look(self, path: str, how: LoadSettings, answer: Callable[[PlanResult | None], None]) -> None:
        """Tell `answer` about a load that nobody looks at; exactly, unless there is ample room."""
        wishes = wishes_of(how)

        def on_known(known: _Known | None) -> None:
            self._keep(known)
            result = self._result(known, wishes) if known else None
            if known is None or result is None or result.is_settled or _is_ample(result):
                answer(result)
            else:
                self._try(result, lambda: answer(self._result(known, wishes)))

        self._looking.run(self._look_job(path), on_known)

    def take_hardware(self, hardware: Hardware) -> None:
        """More is known of the machine: its memory was measured."""
        self.hardware = hardware

    def close(self) -> None:
        """Nothing is answered any more."""
        self._pause.stop()
        self._looking.close()
        self._trying.close()

    # --- looking ----------------------------------------------------------------------------------

    def _look_job(self, path: str) -> Callable[[], _Known]:
        info, gauges = self._loader.info, self._history.newest
        devices = gauges.devices if gauges and gauges.devices else info.devices if info else ()
        pid = self._loader.present.bridge.pid if self._loader.present else None
        pids = [] if pid is None else [pid]
        freed = freed_by_unloading(info, gauges)

        def job() -> _Known:
            self._loader.retired.wait(_SECONDS_TO_END)  # what they still hold will be free
            return _look(self._sources, path, devices, freed, pids)

        return job

    def _keep(self, known: _Known | None) -> None:
        if known:
            self.hardware = known.hardware or self.hardware
            if known.facts:
                self._facts[known.path] = known.facts

    def _on_known(self, path: str, known: _Known | None) -> None:
        self._keep(known)
        if self._asked is None or self._asked[0] != path:
            return
        if known is None:
            problem = self.tr("The memory that this model needs could not be counted.")
            self.planned.emit(path, PlanResult(path, self._asked[1], problem=problem, is_settled=True))
            return
        self._known = known
        self._tell()
        self._make_exact()

    def _tell(self) -> None:
        if self._known and self._asked:
            self.planned.emit(self._known.path, self._result(self._known, self._asked[1]))

    # --- counting ---------------------------------------------------------------------------------

    def _result(self, known: _Known, wishes: Wishes) -> PlanResult:
        if known.facts is None or known.hardware is None:
            return PlanResult(known.path, wishes, problem=known.problem, is_settled=True)
        plan = self._plan(known.facts, known.hardware, wishes, known, None)
        tried = self._exact_for(known.path, _shape(plan, wishes))
        if tried:
            plan = self._plan(known.facts, known.hardware, wishes, known, tried)
        return PlanResult(
            known.path,
            wishes,
            known.facts,
            known.hardware,
            plan,
            known.freed,
            is_settled=(
                plan.verdict is Verdict.CANNOT_CHAT or (known.path, _shape(plan, wishes)) in self._exact
            ),
        )

    def _plan(
        self,
        facts: ModelFacts,
        hardware: Hardware,
        wishes: Wishes,
        known: _Known,
        exact: ExactSizes | None,
    ) -> MemoryPlan:
        return self._sources.plan(
            facts,
            hardware,
            wishes,
            freed_bytes=known.freed,
            exact=exact,
            calibrations=self._sources.calibrations,
        )

    def _exact_for(self, path: str, shape: LoadShape) -> ExactSizes | None:
        """For this shape, or else for the last one: it corrects the others."""
        if found := self._exact.get((path, shape)):
            return found
        others = [exact for (of_path, _), exact in self._exact.items() if of_path == path and exact]
        return others[-1] if others else None

    def _fits(self, known: _Known, wishes: Wishes) -> bool:
        plan = self._result(known, wishes).plan
        return plan is not None and plan.fits

    # --- dry runs ---------------------------------------------------------------------------------

    def _make_exact(self) -> None:
        if self._known is None or self._asked is None:
            return
        asked, result = self._asked, self._result(self._known, self._asked[1])
        if not result.is_settled:
            self._try(result, self._tell, still_wanted=lambda: self._asked == asked)

    def _try(
        self, result: PlanResult, then: Callable[[], None], still_wanted: Callable[[], bool] = lambda: True
    ) -> None:
        assert result.plan is not None  # it is not settled
        path, shape = result.path, _shape(result.plan, result.wishes)

        def job() -> ExactSizes | None:
            return self._sources.dry_run(Path(path), shape) if still_wanted() else None

        def done(exact: ExactSizes | None) -> None:
            if still_wanted():
                self._exact[path, shape] = exact
                then()

        self._trying.run(job, done)


def _look(
    sources: PlanSources,
    path: str,
    devices: Sequence[DeviceMemory],
    freed: Mapping[str, int],
    pids: Sequence[int],
) -> _Known:
    """What takes long, on a thread of its own."""
    try:
        facts = sources.read_facts(Path(path))
    except KnownError as error:
        return _Known(path, freed, devices, problem=str(error))
    devices = devices or sources.probe_devices()
    return _Known(path, freed, devices, facts, sources.machine(devices, pids))


def _shape(plan: MemoryPlan, wishes: Wishes) -> LoadShape:
    return LoadShape(plan.n_ctx, plan.kv_type, plan.n_gpu_layers, wishes.n_seq_max, wishes.n_batch)


def _is_ample(result: PlanResult) -> bool:
    return result.plan is not None and result.plan.verdict in (Verdict.FITS, Verdict.FITS_PARTLY)
