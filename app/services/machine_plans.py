"""Plans for models that are not here yet: by formulas, with the memory that is free now.

Facts go in, plans come out. What is in use is looked at on the window's thread (`now`), the machine is read
and everything is counted on any other (`MachineNow`). Knows nothing about where the facts come from.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.services.freed_memory import freed_by_unloading
from app.services.gauge_history import GaugeHistory
from app.services.model_loader import ModelLoader
from app.services.plan_result import wishes_of
from app.services.plan_sources import PlanSources
from app.services.preferences import Preferences
from engine.memory.hardware import Hardware
from engine.memory.memory_plan import MemoryPlan, Wishes
from engine.models.model_facts import ModelFacts
from engine.protocol import DeviceMemory

Plan = Callable[[ModelFacts], MemoryPlan]


@dataclass(frozen=True, slots=True)
class MachineNow:
    """What the present model holds, and how the next one shall be loaded."""

    sources: PlanSources
    wishes: Wishes
    devices: Sequence[DeviceMemory]
    freed: Mapping[str, int]
    pids: Sequence[int]

    def plan(self, *, measures: bool = False) -> Plan:
        """Read the machine, which may take seconds; gives what plans for it.

        `measures`: find out first how fast its processor is, if nobody knows. Where that fails, plans tell
        no speed.
        """
        hardware: Hardware = self.sources.machine(self.devices or self.sources.probe_devices(), self.pids)
        if measures and any(device.kind == "cpu" and device.bandwidth is None for device in hardware.devices):
            hardware = self.sources.measured(hardware) or hardware
        return functools.partial(self._plan, hardware)

    def _plan(self, hardware: Hardware, facts: ModelFacts) -> MemoryPlan:
        calibrations = self.sources.calibrations
        return self.sources.plan(
            facts, hardware, self.wishes, freed_bytes=self.freed, calibrations=calibrations
        )


class MachinePlans:
    """Knows where to look."""

    def __init__(
        self, sources: PlanSources, loader: ModelLoader, history: GaugeHistory, preferences: Preferences
    ) -> None:
        self._sources = sources
        self._loader = loader
        self._history = history
        self._preferences = preferences

    def now(self) -> MachineNow:
        """How it is at this moment; on the window's thread."""
        info, gauges = self._loader.info, self._history.newest
        pid = self._loader.present.bridge.pid if self._loader.present else None
        return MachineNow(
            self._sources,
            wishes_of(self._preferences.settings.load_settings),
            devices=gauges.devices if gauges and gauges.devices else info.devices if info else (),
            freed=freed_by_unloading(info, gauges),
            pids=[] if pid is None else [pid],
        )
