"""A machine of the test's own for plans: its memory, its cards, its bandwidth, and no process at all.

Model files are real headers without weights; jobs are done at once, on the caller's thread.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from app.services.plan_sources import PlanSources
from engine.dry_run import Refused
from engine.memory import planner
from engine.memory.bandwidth import BandwidthStore, CPUBandwidth
from engine.memory.calibration import CalibrationStore
from engine.memory.hardware import BandwidthSource, Device, Hardware
from engine.memory.memory_plan import ExactSizes, LoadShape, MemoryPlan, Wishes
from engine.models.model_facts import ModelFacts, read_facts
from engine.protocol import DeviceMemory
from tests.generated_models import write_model

MIB, GIB = 2**20, 2**30
Result = TypeVar("Result")


class AtOnce:
    """Runs each job when it is given, or when the test says so; with `delays` only its answer comes later."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] = []
        self.holds = False
        self.delays = False

    def run(self, job: Callable[[], Result], then: Callable[[Result | None], None]) -> None:
        if self.delays:
            self.held.append(functools.partial(then, job()))
        elif self.holds:
            self.held.append(lambda: then(job()))
        else:
            then(job())

    def close(self) -> None:
        self.held.clear()

    def go(self) -> None:
        held, self.held = self.held, []
        for job in held:
            job()


def cpu(free: int, total: int = 16 * GIB, others: int = 3 * GIB) -> Device:
    return Device(
        *("CPU", "Test processor", "cpu", total, free, others),
        bandwidth=20e9,
        bandwidth_source=BandwidthSource.MEASURED,
    )


def card(free: int, total: int = 8 * GIB) -> Device:
    return Device("CUDA0", "Test card", "gpu", total, free, used_by_others=total - free, bandwidth=300e9)


def machine(*devices: Device) -> Hardware:
    processor = devices[0]
    assert processor.total is not None and processor.free is not None
    return Hardware("Test processor", 4, 4, processor.total, processor.free, 0, 0, devices)


@dataclass
class Bench:
    """What the sources say, and what they were asked."""

    folder: Path
    hardware: Hardware = field(default_factory=lambda: machine(cpu(10 * GIB)))
    exact: Callable[[LoadShape], ExactSizes | Refused | None] = lambda shape: None
    on_read: Callable[[Sequence[DeviceMemory]], None] = lambda devices: None
    bandwidth: CPUBandwidth | None = None
    probed: int = 0
    tried: list[LoadShape] = field(default_factory=list)
    measured: int = 0
    counted: list[Wishes] = field(default_factory=list)
    counted_on: set[threading.Thread] = field(default_factory=set)
    runners: dict[str, AtOnce] = field(default_factory=dict)

    def sources(self) -> PlanSources:
        return PlanSources(
            read_facts=read_facts,
            probe_devices=self._probe,
            read_hardware=self._read,
            try_out=self._try,
            measure_bandwidth=self._measure,
            bandwidths=BandwidthStore(self.folder / "bandwidth.json"),
            calibrations=CalibrationStore(self.folder / "calibrations.json"),
            plan=self._plan,
            make_runner=self._make_runner,
        )

    def model(self, name: str = "model") -> str:
        return str(write_model(self.folder / f"{name}.gguf", n_tokens=2048, n_merges=100))

    def shrink_ram(self, free: int) -> None:
        """From now on so much is free, and others have the rest."""
        self.hardware = replace(
            self.hardware,
            ram_available=free,
            devices=(
                cpu(free, others=self.hardware.ram_total - free - GIB),
                *self.hardware.devices[1:],
            ),
        )

    def _make_runner(self, name: str) -> AtOnce:
        return self.runners.setdefault(name, AtOnce())

    def _read(self, devices: Sequence[DeviceMemory], _pids: Iterable[int]) -> Hardware:
        self.on_read(devices)
        return self.hardware

    def _probe(self) -> tuple[()]:
        self.probed += 1
        return ()

    def _plan(self, facts: ModelFacts, hardware: Hardware, wishes: Wishes, **known: Any) -> MemoryPlan:
        self.counted.append(wishes)
        self.counted_on.add(threading.current_thread())
        return planner.plan(facts, hardware, wishes, **known)

    def _try(self, _path: Path, shape: LoadShape) -> ExactSizes | Refused | None:
        self.tried.append(shape)
        return self.exact(shape)

    def _measure(self, _hardware: Hardware) -> CPUBandwidth | None:
        self.measured += 1
        return self.bandwidth
