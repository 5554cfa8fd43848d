"""Before a benchmark: is there room for it, beside the chat's model or without it, and what is expected.

A `Bench` goes in, an answer comes out, both on the window's thread; what takes long is done on others. The
memory is measured here where nobody has yet, so that results have something to be compared with. Knows
nothing about runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject

from app.data.settings import LoadSettings
from app.services.load_plans import LoadPlans
from app.services.model_loader import ModelLoader
from app.services.plan_reasons import reasons_of
from app.services.plan_result import PlanResult
from app.services.plan_sources import PlanSources
from engine.memory.bandwidth import with_bandwidth
from engine.memory.hardware import Hardware
from engine.models.model_facts import ModelFacts
from engine.protocol import Bench, KVType, LoadOptions

_LEAST_CONTEXT = 512
_LARGEST_FIRST = (KVType.F16, KVType.Q8_0, KVType.Q4_0)


@dataclass(frozen=True, slots=True)
class BenchProblem:
    """Why a model was not measured: a sentence for the page, and the engine's own words."""

    message: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """There is room; what the results are to be compared with."""

    facts: ModelFacts
    hardware: Hardware


@dataclass(frozen=True, slots=True)
class InTheWay:
    """There is room once the chat's model is unloaded."""


Answer = Ready | InTheWay | BenchProblem


class BenchRoom(QObject):
    """Knows where to look."""

    def __init__(
        self, loader: ModelLoader, plans: LoadPlans, sources: PlanSources, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._loader = loader
        self._plans = plans
        self._sources = sources
        self._runner = sources.make_runner("benchmarks")

    def ask(self, command: Bench, answer: Callable[[Answer], None]) -> None:
        """Have `answer` called once it is known."""
        how = _largest(command)
        self._plans.look(command.path, how, lambda planned: self._on_planned(planned, answer))

    def close(self) -> None:
        """Nothing is answered any more."""
        self._runner.close()

    def _on_planned(self, planned: PlanResult | None, answer: Callable[[Answer], None]) -> None:
        if planned is None or planned.facts is None or planned.hardware is None:
            reason = planned.problem if planned else ""
            answer(BenchProblem(reason or self.tr("The memory for this benchmark could not be counted.")))
        elif planned.problem or planned.does_not_fit:
            sentence = self.tr("{0} was not measured. {1}").format(planned.facts.name, reasons_of(planned)[0])
            answer(BenchProblem(sentence))
        elif self._loader.info and not planned.fits_beside:
            answer(InTheWay())
        else:
            self._measure_memory(planned.facts, planned.hardware, answer)

    def _measure_memory(
        self, facts: ModelFacts, hardware: Hardware, answer: Callable[[Answer], None]
    ) -> None:
        if any(device.kind == "cpu" and device.bandwidth is None for device in hardware.devices):
            self._runner.run(
                lambda: self._with_bandwidth(hardware),
                lambda measured: answer(Ready(facts, measured or hardware)),
            )
        else:
            answer(Ready(facts, hardware))

    def _with_bandwidth(self, hardware: Hardware) -> Hardware | None:
        """On the thread that may take long."""
        bandwidth = self._sources.measure_bandwidth(hardware)
        if bandwidth is None:
            return None
        self._sources.bandwidths.keep(hardware, bandwidth)
        return with_bandwidth(hardware, bandwidth)


def _largest(command: Bench) -> LoadSettings:
    """What the most demanding of the cases is loaded with."""
    cases = command.cases
    return LoadSettings(
        n_ctx=max(_LEAST_CONTEXT, *(case.n_depth + case.n_prompt + case.n_gen for case in cases)),
        kv_type=min((case.k_type for case in cases), key=_LARGEST_FIRST.index),
        load_options=LoadOptions(
            flash_attention=cases[0].flash_attention,
            n_batch=max(case.n_batch for case in cases),
            n_ubatch=max(case.n_ubatch for case in cases),
        ),
    )
