"""Where plans come from: the file, the machine, llama.cpp itself.

Functions of the engine behind one value, so that a test can put its own machine in their place. All but
`plan` may take seconds. Knows nothing about who asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from app.data.paths import bandwidth_path, calibrations_path
from app.services.background import Background, Runner
from engine.client import probe_backend
from engine.dry_run import Refused, try_out
from engine.errors import EngineGone
from engine.memory import planner
from engine.memory.bandwidth import BandwidthStore, CPUBandwidth, with_bandwidth
from engine.memory.calibration import CalibrationStore
from engine.memory.hardware import Hardware, read_hardware
from engine.memory.memory_plan import ExactSizes, LoadShape, MemoryPlan, Wishes
from engine.models.model_facts import ModelFacts, read_facts
from engine.processor_speed import measure_processor
from engine.protocol import DeviceMemory


class Plan(Protocol):
    """As `engine.memory.planner.plan`, which see."""

    def __call__(
        self,
        facts: ModelFacts,
        hardware: Hardware,
        wishes: Wishes,
        *,
        freed_bytes: Mapping[str, int] | None = None,
        exact: ExactSizes | None = None,
        calibrations: CalibrationStore | None = None,
    ) -> MemoryPlan:
        """Pure arithmetic."""


@dataclass(frozen=True, slots=True)
class PlanSources:
    """`read_facts` raises ModelFileError; `try_out` gives None where llama.cpp could not be asked.

    `make_runner` makes what runs the slow ones, by the name of its thread.
    """

    read_facts: Callable[[Path], ModelFacts]
    probe_devices: Callable[[], Sequence[DeviceMemory]]
    read_hardware: Callable[[Sequence[DeviceMemory], Iterable[int]], Hardware]
    try_out: Callable[[Path, LoadShape], ExactSizes | Refused | None]
    measure_bandwidth: Callable[[Hardware], CPUBandwidth | None]
    bandwidths: BandwidthStore
    calibrations: CalibrationStore
    plan: Plan = planner.plan
    make_runner: Callable[[str], Runner] = Background
    _measuring: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def machine(self, devices: Sequence[DeviceMemory], own_pids: Iterable[int]) -> Hardware:
        """The machine as it is now, with the bandwidth that was measured on it."""
        hardware = self.read_hardware(devices, own_pids)
        return with_bandwidth(hardware, self.bandwidths.stored(hardware))

    def measured(self, hardware: Hardware, *, again: bool = False) -> Hardware | None:
        """The same machine with its processor measured, unless it was before; None where that fails.

        `again`: measure in any case; the best of all is kept.
        """
        with self._measuring:  # two at once would slow each other down
            known = None if again else self.bandwidths.stored(hardware)
            if known is None and (found := self.measure_bandwidth(hardware)):
                known = self.bandwidths.keep(hardware, found)
            return None if known is None else with_bandwidth(hardware, known)


def this_machine() -> PlanSources:
    """The real ones. Raises KnownError when Weir has no folder to keep anything in."""
    return PlanSources(
        read_facts=read_facts,
        probe_devices=_probe_devices,
        read_hardware=read_hardware,
        try_out=try_out,
        measure_bandwidth=measure_processor,
        bandwidths=BandwidthStore(bandwidth_path()),
        calibrations=CalibrationStore(calibrations_path()),
    )


def _probe_devices() -> Sequence[DeviceMemory]:
    try:
        return probe_backend().devices
    except EngineGone:
        return ()  # whoever loads a model is told why
