"""How many bytes a second the processor reads from RAM: measured a few times, and kept for this machine.

`Hardware` goes in, a `CPUBandwidth` comes out. Promises: the reading happens in a process of its own, for
about half a second after its buffer is filled; a figure of another machine is never used; of several
measurements the best is kept, since what disturbs one can only make it slower. Knows nothing about models.

The buffer is read by `numpy.max` over 32-bit numbers, which is vectorised and waits for memory only. Of the
reading, spans of some milliseconds are looked at, and a quick one counts: neighbours that want the cores too
make others slower, and none faster.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from engine.memory.hardware import BandwidthSource, Device, Hardware
from engine.memory.kernel_speed import KernelSpeed, best_of, parse_kernels
from engine.memory.system_file import read_json, write_json

_SPAWN = multiprocessing.get_context("spawn")
_SECONDS_TO_MEASURE = 20.0
_SECONDS_OF_READING = 0.25  # for one thread, and again for all cores
_MEBIBYTE = 2**20
_SMALLEST_BUFFER, _LARGEST_BUFFER = 128 * _MEBIBYTE, 512 * _MEBIBYTE
_UNKNOWN_CACHE = 64 * _MEBIBYTE
_PART = 8 * _MEBIBYTE
_PARTS_IN_A_WINDOW = 4  # of each thread
_MEASUREMENTS = 3
_SECONDS_BETWEEN = 600.0  # what disturbed one is over then
_LARGEST_SURPRISE = 3.0  # beyond it the decode is wrong, not the bandwidth
_QUICK = 0.9  # of the spans are slower than the one that counts; the very quickest are chance


@dataclass(frozen=True, slots=True)
class CPUBandwidth:
    """Bytes a second, measured `measured_at` (seconds since 1970); `kernels` where they were measured too."""

    one_thread: float
    all_cores: float
    kernels: KernelSpeed | None = None
    measured_at: float = 0.0

    @property
    def best(self) -> float:
        """Of a busy machine one thread may read more than all."""
        return max(self.one_thread, self.all_cores)


class BandwidthStore:
    """One small JSON file with the best of what was measured and the machine that it was measured on."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def stored(self, hardware: Hardware) -> CPUBandwidth | None:
        """What was measured on this machine; None if nothing was, or on another one."""
        found = self._read(hardware)
        figures = [found.get(name) for name in ("one_thread", "all_cores")]
        one, every = (float(f) if isinstance(f, int | float) and _is_rate(f) else None for f in figures)
        if one is None or every is None:
            return None
        date = found.get("measured_at")
        measured_at = date if isinstance(date, int | float) and _is_rate(date) else 0.0
        kernels = parse_kernels(found.get("kernels"))
        return CPUBandwidth(one, every, kernels, measured_at)

    def wants_more(self, hardware: Hardware) -> bool:
        """Whether it should be measured (again): each of the first few may have been disturbed."""
        stored, found = self.stored(hardware), self._read(hardware)
        has_old_kernels = found.get("kernels") is not None and parse_kernels(found["kernels"]) is None
        if stored is None or has_old_kernels:
            return True
        count = found.get("count")
        is_settled = isinstance(count, int) and count >= _MEASUREMENTS
        return not is_settled and abs(time.time() - stored.measured_at) > _SECONDS_BETWEEN

    def keep(self, hardware: Hardware, bandwidth: CPUBandwidth) -> CPUBandwidth:
        """Store the best of this and of what is stored; returns that."""
        stored, count = self.stored(hardware), self._read(hardware).get("count")
        best = bandwidth if stored is None else _best_of(stored, bandwidth)
        best = replace(best, measured_at=time.time())
        n_measured = count + 1 if isinstance(count, int) and not isinstance(count, bool) else 1
        self._write(hardware, best, n_measured)
        return best

    def prove(self, hardware: Hardware, rate: float) -> None:
        """A decode read so many bytes a second: the bandwidth is that at least."""
        stored, count = self.stored(hardware), self._read(hardware).get("count")
        if stored is not None and stored.best < rate < _LARGEST_SURPRISE * stored.best:
            self._write(hardware, replace(stored, all_cores=rate), count)

    def _read(self, hardware: Hardware) -> Mapping[str, object]:
        found = read_json(self._path)
        is_ours = isinstance(found, dict) and found.get("machine") == _describe(hardware)
        return found if is_ours and isinstance(found, dict) else {}

    def _write(self, hardware: Hardware, bandwidth: CPUBandwidth, count: object) -> None:
        write_json(self._path, {"machine": _describe(hardware), "count": count, **asdict(bandwidth)})


def _best_of(one: CPUBandwidth, other: CPUBandwidth) -> CPUBandwidth:
    kernels = one.kernels or other.kernels
    if one.kernels and other.kernels:
        kernels = best_of(one.kernels, other.kernels)
    return CPUBandwidth(max(one.one_thread, other.one_thread), max(one.all_cores, other.all_cores), kernels)


def measure_bandwidth(hardware: Hardware) -> CPUBandwidth | None:
    """Measure now; takes one to three seconds. None if there is too little memory or the process fails."""
    size = buffer_bytes(hardware)
    if size is None:
        return None
    ours, theirs = _SPAWN.Pipe(duplex=False)
    arguments = (theirs, size, hardware.n_physical_cores)
    process = _SPAWN.Process(target=_measure, args=arguments, name="weir-bandwidth", daemon=True)
    process.start()
    theirs.close()
    measured: CPUBandwidth | None = None
    try:
        with suppress(EOFError, OSError):
            measured = ours.recv() if ours.poll(_SECONDS_TO_MEASURE) else None
    finally:
        process.kill()
        process.join()
        ours.close()
    return measured


def with_bandwidth(hardware: Hardware, bandwidth: CPUBandwidth | None) -> Hardware:
    """The same machine, its processor and what shares its RAM with that bandwidth, where none is known."""
    if bandwidth is None:
        return hardware
    return replace(hardware, devices=tuple(_with(device, bandwidth) for device in hardware.devices))


def buffer_bytes(hardware: Hardware) -> int | None:
    """So much that no cache holds it; None if that would take more than an eighth of the free RAM."""
    wanted = 3 * (hardware.last_level_cache or _UNKNOWN_CACHE)
    size = max(_SMALLEST_BUFFER, min(_LARGEST_BUFFER, wanted))
    return size if size <= hardware.ram_available // 8 else None


def _with(device: Device, bandwidth: CPUBandwidth) -> Device:
    # A graphics unit that reads the same RAM has the same bandwidth at least.
    if device.kind == "cpu" or (device.kind == "igpu" and device.bandwidth is None):
        kernels = bandwidth.kernels if device.kind == "cpu" else None
        return replace(
            device, bandwidth=bandwidth.best, bandwidth_source=BandwidthSource.MEASURED, kernels=kernels
        )
    return device


def _describe(hardware: Hardware) -> str:
    gibibytes = round(hardware.ram_total / 2**30)
    return f"{hardware.cpu_name}, {hardware.n_physical_cores} cores, {gibibytes} GiB"


def _is_rate(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15


def _measure(connection: Connection, size: int, n_threads: int) -> None:
    """Entry of the measuring process."""
    import numpy  # here, so that the parent need not load it

    step_back()
    numbers = numpy.ones(size // 4, numpy.int32)  # written: pages that were not are one page of zeros
    reads = [part.max for part in numpy.array_split(numbers, size // _PART)]
    # Two threads at one part would find it in the cache.
    n_threads = min(n_threads, len(reads) // 2)
    connection.send(CPUBandwidth(_rate(reads, 1), _rate(reads, n_threads)))


def step_back() -> None:
    """Let this process give way to the window and to a reply; where nothing else runs it loses nothing."""
    with suppress(AttributeError, OSError):  # Windows has no such call
        os.nice(5)


def _rate(reads: Sequence[Callable[[], object]], n_threads: int) -> float:
    """Bytes a second that so many threads read together; each of `reads` reads one part."""
    ends: list[float] = []
    left = itertools.cycle(reads)
    window = _PARTS_IN_A_WINDOW * n_threads
    until = time.perf_counter() + _SECONDS_OF_READING

    def work() -> None:
        while time.perf_counter() < until or len(ends) <= window:
            next(left)()
            ends.append(time.perf_counter())

    threads = [threading.Thread(target=work) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ends.sort()
    rates = sorted(window * _PART / (last - first) for first, last in zip(ends, ends[window:], strict=False))
    return rates[int(_QUICK * len(rates))]
