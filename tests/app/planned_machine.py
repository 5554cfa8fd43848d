"""A machine of the test's own for plans: its memory, its cards, its bandwidth, and no process at all.

Model files are real headers without weights; jobs are done at once, on the caller's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from app.services.plan_sources import PlanSources
from engine.memory.bandwidth import BandwidthStore, CPUBandwidth
from engine.memory.calibration import CalibrationStore
from engine.memory.hardware import BandwidthSource, Device, Hardware
from engine.memory.memory_plan import ExactSizes, LoadShape
from engine.models.model_facts import read_facts
from tests.generated_models import write_model

MIB, GIB = 2**20, 2**30
Result = TypeVar("Result")


class AtOnce:
    """Runs each job when it is given, or when the test says so."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] = []
        self.holds = False

    def run(self, job: Callable[[], Result], then: Callable[[Result | None], None]) -> None:
        if self.holds:
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
    exact: Callable[[LoadShape], ExactSizes | None] = lambda shape: None
    bandwidth: CPUBandwidth | None = None
    probed: int = 0
    tried: list[LoadShape] = field(default_factory=list)
    measured: int = 0
    runners: dict[str, AtOnce] = field(default_factory=dict)

    def sources(self) -> PlanSources:
        return PlanSources(
            read_facts=read_facts,
            probe_devices=self._probe,
            read_hardware=lambda devices, pids: self.hardware,
            dry_run=self._try,
            measure_bandwidth=self._measure,
            bandwidths=BandwidthStore(self.folder / "bandwidth.json"),
            calibrations=CalibrationStore(self.folder / "calibrations.json"),
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

    def _probe(self) -> tuple[()]:
        self.probed += 1
        return ()

    def _try(self, _path: Path, shape: LoadShape) -> ExactSizes | None:
        self.tried.append(shape)
        return self.exact(shape)

    def _measure(self, _hardware: Hardware) -> CPUBandwidth | None:
        self.measured += 1
        return self.bandwidth
