"""What the processor reaches here: the bandwidth of its memory and the speed of llama.cpp's kernels.

`Hardware` goes in, a `CPUBandwidth` comes out. Takes two to three seconds, in processes of their own; asked
for once for each machine. Knows nothing about models.
"""

from __future__ import annotations

import multiprocessing
import os
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection

from engine.memory.bandwidth import CPUBandwidth, measure_bandwidth, step_back
from engine.memory.hardware import Hardware
from engine.memory.kernel_speed import KernelSpeed

_SPAWN = multiprocessing.get_context("spawn")
_SECONDS_TO_MEASURE = 20.0


def measure_processor(hardware: Hardware) -> CPUBandwidth | None:
    """Measure now; None where the memory could not be measured. Without kernels where llama.cpp fails."""
    bandwidth = measure_bandwidth(hardware)
    return bandwidth and replace(bandwidth, kernels=measure_kernels(hardware.n_physical_cores))


def measure_kernels(n_threads: int) -> KernelSpeed | None:
    """Times of llama.cpp's kernels with so many threads; None where its process fails or is too slow."""
    ours, theirs = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=_measure, args=(theirs, n_threads), name="weir-kernels", daemon=True)
    process.start()
    theirs.close()
    found: KernelSpeed | None = None
    try:
        with suppress(EOFError, OSError):
            found = ours.recv() if ours.poll(_SECONDS_TO_MEASURE) else None
    finally:
        process.kill()
        process.join()
        ours.close()
    return found


def _measure(connection: Connection, n_threads: int) -> None:
    """Entry of the measuring process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)  # what an abort prints is nobody's business here
    step_back()
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # as in the worker
    from engine.llama.kernel_speed import measure

    connection.send(measure(n_threads))
