"""Whether each model of a list fits into this machine, by formulas alone.

Scanned models go in, `Fit`s come out, some at a time. Promises: files are read and the machine is asked off
this object's thread; each header is read once as long as its file stays as it is; of two lists only the
newer one is counted to its end. Knows nothing about where the models come from.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.data.installed_model import Fit
from app.services.freed_memory import freed_by_unloading
from app.services.gauge_history import GaugeHistory
from app.services.model_loader import ModelLoader
from app.services.plan_result import wishes_of
from app.services.plan_sources import PlanSources
from app.services.preferences import Preferences
from engine.errors import KnownError
from engine.memory.hardware import Hardware
from engine.memory.memory_plan import Wishes
from engine.models.model_facts import ModelFacts
from engine.models.scanned_model import ScannedModel
from engine.protocol import DeviceMemory

SLICE_S = 0.1
"""How long models are counted before what is known is told."""

_FileState = tuple[Path, int, int]


@dataclass(slots=True)
class _Round:
    """One list to be counted, with all that the thread needs; `hardware` is read by its first slice."""

    waiting: deque[ScannedModel]
    wishes: Wishes
    devices: Sequence[DeviceMemory]
    freed: Mapping[str, int]
    pids: Sequence[int]
    hardware: Hardware | None = None


class ModelFits(QObject):
    """Owns the facts of the models that were counted."""

    counted = Signal(object)
    """A mapping of `Path` to `Fit`, of models that are known now."""

    def __init__(
        self,
        sources: PlanSources,
        loader: ModelLoader,
        history: GaugeHistory,
        preferences: Preferences,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._sources = sources
        self._loader = loader
        self._history = history
        self._preferences = preferences
        self._runner = sources.make_runner("model-fits")
        self._round: _Round | None = None
        self._facts: dict[_FileState, ModelFacts | None] = {}
        self._probed: Sequence[DeviceMemory] = ()

    def count(self, models: Iterable[ScannedModel]) -> None:
        """Count these, with the memory that is free now; what was asked for before is given up."""
        info, gauges = self._loader.info, self._history.newest
        pid = self._loader.present.bridge.pid if self._loader.present else None
        self._round = _Round(
            deque(models),
            wishes_of(self._preferences.settings.load_settings),
            devices=gauges.devices if gauges and gauges.devices else info.devices if info else (),
            freed=freed_by_unloading(info, gauges),
            pids=[] if pid is None else [pid],
        )
        self._go_on()

    def close(self) -> None:
        """Nothing is counted any more."""
        self._round = None
        self._runner.close()

    def _go_on(self) -> None:
        current = self._round
        if current and current.waiting:
            self._runner.run(lambda: self._slice(current), lambda fits: self._on_slice(current, fits))

    def _on_slice(self, done: _Round, fits: Mapping[Path, Fit] | None) -> None:
        if done is not self._round:
            return
        if fits:
            self.counted.emit(fits)
        self._go_on()

    # --- on the thread that may take long ---------------------------------------------------------

    def _slice(self, current: _Round) -> Mapping[Path, Fit]:
        if current.hardware is None:
            self._probed = current.devices or self._probed or self._sources.probe_devices()
            current.hardware = self._sources.machine(self._probed, current.pids)
        fits: dict[Path, Fit] = {}
        until = time.monotonic() + SLICE_S
        while current.waiting and time.monotonic() < until:
            model = current.waiting.popleft()
            facts = self._facts_of(model)
            if facts:
                fits[model.path] = self._fit(facts, current.hardware, current)
        return fits

    def _facts_of(self, model: ScannedModel) -> ModelFacts | None:
        state = _state(model)
        if state not in self._facts:
            try:
                self._facts[state] = self._sources.read_facts(model.path)
            except KnownError:
                self._facts[state] = None  # the next scan will say what is wrong with it
        return self._facts[state]

    def _fit(self, facts: ModelFacts, hardware: Hardware, current: _Round) -> Fit:
        plan = self._sources.plan(
            facts,
            hardware,
            current.wishes,
            freed_bytes=current.freed,
            calibrations=self._sources.calibrations,
        )
        return Fit(plan.verdict, plan.reasons[0] if plan.reasons else "", plan.predicted_tps)


def _state(model: ScannedModel) -> _FileState:
    return model.path, model.size, model.mtime_ns
