"""NVIDIA's own word about its cards: memory, which processes hold it, and how hard the card works.

Nothing goes in; frozen values come out. Promises: an answer or None within a bound, whatever the driver
does (missing, hanging, raising, "[N/A]", values of the wrong type); a driver that hung is left alone for a
while, and never has more than one thread waiting for it. Knows nothing about ggml's devices.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_SECONDS_TO_ANSWER = 2.0
_SECONDS_OF_PEACE = 60.0
_MOST_CARDS = 64
_LARGEST = 2**53
_UNKNOWN_STATE = 32  # NVML_PSTATE_UNKNOWN; states go from 0, the fastest, to 15
_CLOCK_OF_MEMORY = 2  # NVML_CLOCK_MEM

# nvmlClocksEventReasons of nvml.h; idle clocks and chosen clocks are no throttling.
_THROTTLE_REASONS = {
    0x04: "power limit",
    0x08: "hardware slowdown",
    0x20: "temperature",
    0x40: "temperature (hardware)",
    0x80: "power brake",
}


@dataclass(frozen=True, slots=True)
class Card:
    """One card at one moment; bytes, watts, degrees Celsius, 0 to 1; None where the driver does not say.

    `used` leaves out what the driver keeps for itself, where it tells that apart. `processes`: bytes by
    process id, None for those of unknown size, and None altogether where they are not told.
    `numa_node`: where the card's memory is a part of the machine's (Grace Hopper). `peak_bandwidth`: bytes
    a second from the width and the highest clock of its memory. `performance_state`: 0 is the fastest.
    """

    name: str
    total: int | None = None
    free: int | None = None
    used: int | None = None
    processes: Mapping[int, int | None] | None = None
    numa_node: int | None = None
    peak_bandwidth: float | None = None
    utilization: float | None = None
    power: float | None = None
    temperature: int | None = None
    performance_state: int | None = None
    throttled_by: tuple[str, ...] | None = None


def _load_nvml() -> Any:
    return importlib.import_module("pynvml")


class CardReader:
    """Asks the driver in a thread that nobody waits for longer than `seconds`. Many threads may read."""

    def __init__(self, load: Callable[[], Any] = _load_nvml, seconds: float = _SECONDS_TO_ANSWER) -> None:
        self._load = load
        self._seconds = seconds
        self._asking = threading.Lock()
        self._thread: threading.Thread | None = None
        self._silent_until = 0.0

    def read(self) -> tuple[Card, ...] | None:
        """All cards, in the order of the bus; None where there is no driver or no answer."""
        if not self._asking.acquire(timeout=self._seconds):
            return None
        try:
            return self._ask()
        finally:
            self._asking.release()

    def _ask(self) -> tuple[Card, ...] | None:
        hangs = self._thread is not None and self._thread.is_alive()
        if hangs or time.monotonic() < self._silent_until:
            return None
        answers: list[tuple[Card, ...]] = []
        self._thread = threading.Thread(
            target=_read_cards, args=(self._load, answers), name="weir-nvml", daemon=True
        )
        self._thread.start()
        self._thread.join(self._seconds)
        if self._thread.is_alive():
            self._silent_until = time.monotonic() + _SECONDS_OF_PEACE
            return None
        return answers[0] if answers else None


def used_by_others(cards: tuple[Card, ...], card: Card, own_pids: frozenset[int]) -> int | None:
    """Bytes of `card` that processes other than `own_pids` hold; None where that cannot be told.

    In a container the driver names no processes, or by numbers of the host: where none of ours is seen on
    any card, a card that names none does not tell whose its memory is.
    """
    if card.used is None or not own_pids:
        return card.used
    listed = card.processes or {}
    sees_us = any(pid in own_pids for other in cards for pid in other.processes or {})
    if card.processes is None or not (sees_us or listed):
        return None
    ours = 0
    for pid in own_pids & listed.keys():
        size = listed[pid]
        if size is None:
            return None
        ours += size
    return max(0, card.used - ours)


def _read_cards(load: Callable[[], Any], answers: list[tuple[Card, ...]]) -> None:
    try:
        nvml = load()
        nvml.nvmlInit()
    except Exception:  # no library, no driver, no card: each has an error of its own
        return
    try:
        count = _whole(nvml.nvmlDeviceGetCount()) or 0
        answers.append(tuple(_read_card(nvml, index) for index in range(min(count, _MOST_CARDS))))
    except Exception:
        return
    finally:
        _said(nvml.nvmlShutdown)  # a card of a laptop may sleep again


def _read_card(nvml: Any, index: int) -> Card:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)

    def ask(question: str, *more: object) -> Any:
        return _said(lambda: getattr(nvml, question)(handle, *more))

    name = ask("nvmlDeviceGetName")
    memory = _said(lambda: nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2))
    if memory is None:  # a driver before 510
        memory = ask("nvmlDeviceGetMemoryInfo")
    busy = _whole(_attribute(ask("nvmlDeviceGetUtilizationRates"), "gpu"))
    milliwatts = _whole(ask("nvmlDeviceGetPowerUsage"))
    state = _whole(ask("nvmlDeviceGetPerformanceState"))
    return Card(
        name=name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name or "NVIDIA"),
        total=_whole(_attribute(memory, "total")),
        free=_whole(_attribute(memory, "free")),
        used=_whole(_attribute(memory, "used")),
        processes=_processes(ask),
        numa_node=_whole(ask("nvmlDeviceGetNumaNodeId")),
        peak_bandwidth=_peak_bandwidth(ask),
        utilization=None if busy is None or busy > 100 else busy / 100,
        power=None if milliwatts is None else milliwatts / 1000,
        temperature=_whole(ask("nvmlDeviceGetTemperature", 0)),
        performance_state=None if state is None or state >= _UNKNOWN_STATE else state,
        throttled_by=_throttled_by(ask),
    )


def _processes(ask: Callable[[str], Any]) -> dict[int, int | None] | None:
    """Computing and drawing ones; many are both, with the same memory."""
    lists = [ask("nvmlDeviceGetComputeRunningProcesses"), ask("nvmlDeviceGetGraphicsRunningProcesses")]
    if not isinstance(lists[0], list):
        return None
    found: dict[int, int | None] = {}
    for process in [process for each in lists if isinstance(each, list) for process in each]:
        pid, size = _whole(_attribute(process, "pid")), _whole(_attribute(process, "usedGpuMemory"))
        if pid is not None:
            before = found.get(pid)
            found[pid] = size if before is None else max(before, size or 0)
    return found


def _peak_bandwidth(ask: Callable[..., Any]) -> float | None:
    # GDDR and HBM transfer twice a clock as the driver counts it: 10,501 MHz x 384 bits of an RTX 4090
    # are 1,008 GB/s.
    megahertz = _whole(ask("nvmlDeviceGetMaxClockInfo", _CLOCK_OF_MEMORY))
    bits = _whole(ask("nvmlDeviceGetMemoryBusWidth"))
    return 2 * megahertz * 1e6 * bits / 8 if megahertz and bits else None


def _throttled_by(ask: Callable[[str], Any]) -> tuple[str, ...] | None:
    reasons = _whole(ask("nvmlDeviceGetCurrentClocksEventReasons"))
    if reasons is None:  # a driver before 535
        reasons = _whole(ask("nvmlDeviceGetCurrentClocksThrottleReasons"))
    if reasons is None:
        return None
    return tuple(word for bit, word in _THROTTLE_REASONS.items() if reasons & bit)


def _said(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except Exception:  # "not supported" is an error of its own for each question and driver
        return None


def _attribute(value: Any, name: str) -> object:
    return _said(lambda: getattr(value, name))


def _whole(value: object) -> int | None:
    """`value` if it is a number of 0 or more that means something; "[N/A]" and all bits set do not."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _LARGEST else None
