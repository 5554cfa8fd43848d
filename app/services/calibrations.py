"""What this machine really reaches, learned while chats run.

Events of the engine go in; the time of each turn's tokens goes to the `CalibrationStore`, off this object's
thread, and the processor is measured a few times in its life, while nothing runs: some seconds after a model
was loaded or has answered, or as soon as a plan misses it. Promises: a turn that another one or another
program disturbed is not learned from, nor one of few tokens, nor one whose model lies on several devices.
Knows nothing about plans, beyond where facts and hardware are.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from app.services.bandwidth_use import BandwidthUse, cache_bytes_read
from app.services.load_plans import LoadPlans
from app.services.model_loader import ModelLoader
from app.services.plan_result import PlanResult
from app.services.plan_sources import PlanSources
from engine.memory.hardware import Hardware
from engine.memory.learning import Learner, device_of
from engine.memory.other_load import OtherLoad
from engine.protocol import (
    Event,
    Failed,
    Finished,
    Gauges,
    ModelLoaded,
    PrefillProgress,
    TextDelta,
    TurnStats,
)

QUIET_MS = 5000
"""How long the engine must have been idle before the memory is measured."""

_PLAN_MS = 1000  # after a plan that misses it; llama.cpp's dry run is over then


class Calibrations(QObject):
    """Owns what is known of the replies that run, and the wish to measure."""

    measured = Signal()
    """The memory's bandwidth is known now."""

    def __init__(
        self,
        sources: PlanSources,
        loader: ModelLoader,
        plans: LoadPlans,
        is_disturbed: Callable[[], bool] = lambda: False,
        parent: QObject | None = None,
    ) -> None:
        """`is_disturbed`: whether something else of Weir is at work too."""
        super().__init__(parent)
        self._sources = sources
        self._loader = loader
        self._plans = plans
        self._is_disturbed = is_disturbed
        self._running: set[int] = set()
        self._disturbed: set[int] = set()
        self._load: OtherLoad | None = None
        self._is_measuring = False
        self._runner = sources.make_runner("calibrations")
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(QUIET_MS)
        self._quiet.timeout.connect(self._measure)
        loader.event_received.connect(self._on_event)
        loader.engine_lost.connect(self._on_engine_lost)
        plans.planned.connect(self._on_planned)

    def use(self, gauges: Gauges | None) -> BandwidthUse | None:
        """What decoding takes of the memory now; None while the model's facts are not known."""
        present, hardware = self._loader.present, self._plans.hardware
        facts = self._plans.facts_of(present.path) if present else None
        if present is None or present.info is None or facts is None:
            return None
        device = device_of(present.info, hardware) if hardware else None
        is_alone = len(self._running) <= 1  # several replies share the reading of the weights
        return BandwidthUse(
            facts.active_bytes,
            cache_bytes_read(facts, present.info.options, gauges.kv_cells_used if gauges else 0),
            device.bandwidth if device else None,
            gauges.decode_tps if gauges and is_alone else None,
        )

    def close(self) -> None:
        """Nothing is learned any more."""
        self._quiet.stop()
        self._runner.close()

    # --- replies ----------------------------------------------------------------------------------

    def _on_event(self, event: Event) -> None:
        match event:
            case ModelLoaded():
                self._measure_after(QUIET_MS)
            case PrefillProgress(request_id) | TextDelta(request_id):
                self._running.add(request_id)
                self._quiet.stop()
                if self._load is None and isinstance(event, TextDelta):
                    self._load = self._other_load()
                if len(self._running) > 1 or self._is_disturbed():
                    self._disturbed |= self._running
            case Failed(int(request_id)):
                self._running.discard(request_id)
                self._disturbed.discard(request_id)
            case Finished(request_id, stats=stats):
                self._running.discard(request_id)
                if self._load and self._load.disturbs():
                    self._disturbed.add(request_id)
                self._load = None
                if request_id not in self._disturbed:
                    self._learn(stats)
                self._disturbed.discard(request_id)
                self._measure_after(QUIET_MS)

    def _other_load(self) -> OtherLoad:
        pid = self._loader.present.bridge.pid if self._loader.present else None
        return OtherLoad([] if pid is None else [pid])

    def _on_engine_lost(self) -> None:
        self._running.clear()
        self._disturbed.clear()
        self._load = None

    def _learn(self, stats: TurnStats) -> None:
        present, hardware = self._loader.present, self._plans.hardware
        if present is None or present.info is None or hardware is None:
            return
        info, facts = present.info, self._plans.facts_of(present.path)
        if facts:
            learn = Learner(self._sources.calibrations, self._sources.bandwidths).learn
            self._runner.run(lambda: learn(facts, info, hardware, stats), lambda _done: None)

    # --- bandwidth --------------------------------------------------------------------------------

    def _on_planned(self, _path: str, result: PlanResult) -> None:
        if result.plan and result.plan.predicted_tps is None:
            self._measure_after(_PLAN_MS)

    def _measure_after(self, milliseconds: int) -> None:
        hardware = self._plans.hardware
        if hardware and not (self._running or self._is_measuring) and self._wants_bandwidth(hardware):
            self._quiet.start(milliseconds)

    def _wants_bandwidth(self, hardware: Hardware) -> bool:
        unknown = any(device.kind == "cpu" and device.bandwidth is None for device in hardware.devices)
        bandwidths = self._sources.bandwidths
        return unknown or (bandwidths.stored(hardware) is not None and bandwidths.wants_more(hardware))

    def _measure(self) -> None:
        hardware = self._plans.hardware
        if hardware is None or self._running:
            return
        if self._is_disturbed():
            self._quiet.start(QUIET_MS)
        else:
            self._is_measuring = True
            self._runner.run(lambda: self._sources.measured(hardware, again=True), self._on_measured)

    def _on_measured(self, hardware: Hardware | None) -> None:
        self._is_measuring = False
        if hardware:
            self._plans.take_hardware(hardware)
            self.measured.emit()
