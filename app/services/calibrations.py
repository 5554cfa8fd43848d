"""What this machine really reaches, learned while chats run.

Events of the engine go in; the time of each turn's tokens goes to the `CalibrationStore`, off this object's
thread, and the memory's bandwidth is measured once, some seconds after a first reply, while nothing runs.
Promises: a turn that another one disturbed is not learned from, nor one of few tokens, nor one whose model
lies on several devices. Knows nothing about plans, beyond where facts and hardware are.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from app.services.bandwidth_use import BandwidthUse, cache_bytes_read, device_of
from app.services.load_plans import LoadPlans
from app.services.model_loader import ModelLoader
from app.services.plan_sources import PlanSources
from engine.memory.bandwidth import with_bandwidth
from engine.memory.hardware import Hardware
from engine.models.model_facts import ModelFacts
from engine.protocol import Event, Finished, Gauges, ModelInfo, PrefillProgress, TextDelta, TurnStats

FEWEST_TOKENS = 20
"""Shorter turns tell little."""

QUIET_MS = 5000
"""How long the engine must have been idle before the memory is measured."""


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
        self._runner = sources.make_runner("calibrations")
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(QUIET_MS)
        self._quiet.timeout.connect(self._measure)
        loader.event_received.connect(self._on_event)
        loader.engine_lost.connect(self._on_engine_lost)

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
            case PrefillProgress(request_id) | TextDelta(request_id):
                self._running.add(request_id)
                self._quiet.stop()
                if len(self._running) > 1 or self._is_disturbed():
                    self._disturbed |= self._running
            case Finished(request_id, stats=stats):
                self._running.discard(request_id)
                if request_id not in self._disturbed:
                    self._learn(stats)
                self._disturbed.discard(request_id)
                if not self._running and self._wants_bandwidth():
                    self._quiet.start()

    def _on_engine_lost(self) -> None:
        self._running.clear()
        self._disturbed.clear()

    def _learn(self, stats: TurnStats) -> None:
        present, hardware = self._loader.present, self._plans.hardware
        if present is None or present.info is None or hardware is None:
            return
        facts = self._plans.facts_of(present.path)
        if facts and stats.decode_tps and stats.tokens_generated >= FEWEST_TOKENS:
            # The cache grew meanwhile: in the middle of the turn it was so large.
            n_cells = max(0.0, stats.kv_cells_used - stats.tokens_generated / 2)
            n_bytes = facts.active_bytes + cache_bytes_read(facts, present.info.options, n_cells)
            self._keep(present.info, hardware, facts, n_bytes, 1 / stats.decode_tps)

    def _keep(
        self, info: ModelInfo, hardware: Hardware, facts: ModelFacts, n_bytes: int, seconds: float
    ) -> None:
        device = device_of(info, hardware)
        if device:
            add = self._sources.calibrations.add
            self._runner.run(lambda: add(device, facts.quantization, n_bytes, seconds), lambda _done: None)

    # --- bandwidth --------------------------------------------------------------------------------

    def _wants_bandwidth(self) -> bool:
        hardware = self._plans.hardware
        return hardware is not None and any(
            device.kind == "cpu" and device.bandwidth is None for device in hardware.devices
        )

    def _measure(self) -> None:
        hardware = self._plans.hardware
        if hardware is None or self._running:
            return
        if self._is_disturbed():
            self._quiet.start()
        else:
            self._runner.run(lambda: self._measured(hardware), self._on_measured)

    def _measured(self, hardware: Hardware) -> Hardware | None:
        """On the thread that may take long."""
        bandwidth = self._sources.measure_bandwidth(hardware)
        if bandwidth is None:
            return None
        self._sources.bandwidths.keep(hardware, bandwidth)
        return with_bandwidth(hardware, bandwidth)

    def _on_measured(self, hardware: Hardware | None) -> None:
        if hardware:
            self._plans.take_hardware(hardware)
            self.measured.emit()
