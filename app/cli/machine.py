"""This machine as the terminal's commands need it: its devices, and what is known of their speed.

Nothing goes in; a `Machine` comes out. What was never measured is measured at once where that is asked for,
which takes some seconds, once for each machine. Knows nothing about models.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from app.data.paths import bandwidth_path, calibrations_path
from engine.client import probe_backend
from engine.errors import EngineGone, KnownError
from engine.memory.bandwidth import BandwidthStore, CPUBandwidth, with_bandwidth
from engine.memory.calibration import CalibrationStore
from engine.memory.hardware import Hardware, read_hardware
from engine.memory.learning import Learner
from engine.processor_speed import measure_processor


@dataclass(frozen=True, slots=True)
class Machine:
    """`learner` None: there is no folder to keep anything in, so that nothing is learned."""

    hardware: Hardware
    learner: Learner | None

    @property
    def calibrations(self) -> CalibrationStore | None:
        """What decoding was measured to reach."""
        return self.learner.calibrations if self.learner else None


def read_machine(note: Callable[[str], object]) -> Machine:
    """The machine as it is now, measured if it never was; `note` is told what is amiss."""
    try:
        devices = probe_backend().devices
    except EngineGone as error:
        note(f"{error} The plan knows of no graphics card.")
        devices = ()
    hardware, learner = read_hardware(devices), open_learner()
    stored = learner.bandwidths.stored(hardware) if learner else None
    if stored is None:
        stored = _measure(hardware)
        if stored and learner:
            stored = learner.bandwidths.keep(hardware, stored)
    return Machine(with_bandwidth(hardware, stored), learner)


def open_learner() -> Learner | None:
    """The stores of what was measured; None where there is no folder for them."""
    try:
        return Learner(CalibrationStore(calibrations_path()), BandwidthStore(bandwidth_path()))
    except KnownError:
        return None


def _measure(hardware: Hardware) -> CPUBandwidth | None:
    if sys.stderr.isatty():
        print("weir: measuring this machine's speed, once ...", file=sys.stderr, flush=True)
    return measure_processor(hardware)
