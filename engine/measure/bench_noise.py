"""What disturbs a measurement: other processes, heat, a battery.

One `NoiseMeter` for each measurement; a `BenchNoise` comes out. Promises: never raises for what the system
does not tell, that is None then. Knows nothing about what is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from engine.memory.nvidia import Card, CardReader
from engine.protocol import BenchNoise

_BUSY = ("user", "nice", "system", "irq", "softirq", "steal")  # "guest" is in "user" already
_CPUS = Path("/sys/devices/system/cpu")
_THROTTLES = "cpu[0-9]*/thermal_throttle/*_throttle_count"


class NoiseMeter:
    """Compares the machine at its beginning with the machine when it is asked.

    `own`: the processes that measure, whose CPU time is not that of others. `has_card`: whether a graphics
    card takes part.
    """

    def __init__(
        self,
        own: Iterable[int | None] = (None,),
        has_card: bool = False,
        cpus: Path = _CPUS,
        read_cards: Callable[[], tuple[Card, ...] | None] | None = None,
    ) -> None:
        self._own = [psutil.Process(pid) for pid in own]
        self._cpus = cpus
        self._read_cards = read_cards or (CardReader().read if has_card else lambda: None)
        self._begun = time.perf_counter()
        self._busy, self._ours = _busy_seconds(), self._own_seconds()
        self._throttles = self._count_throttles()

    def noise(self) -> BenchNoise:
        """What there was since the beginning."""
        return BenchNoise(self._other_load(), self._was_throttled(), power_source())

    def _other_load(self) -> float | None:
        seconds = time.perf_counter() - self._begun
        busy, ours = _busy_seconds() - self._busy, self._own_seconds() - self._ours
        if seconds <= 0 or (busy <= 0 and ours > 0):  # a container that does not tell of the machine
            return None
        return max(0.0, 100 * (busy - ours) / seconds)

    def _own_seconds(self) -> float:
        seconds = 0.0
        for process in self._own:
            with suppress(psutil.Error):
                times = process.cpu_times()
                seconds += times.user + times.system
        return seconds

    def _was_throttled(self) -> bool | None:
        told = []
        throttles = self._count_throttles()
        if throttles is not None and self._throttles is not None:
            told.append(throttles > self._throttles)
        cards = self._read_cards() or ()
        told += [bool(card.throttled_by) for card in cards if card.throttled_by is not None]
        return any(told) if told else None

    def _count_throttles(self) -> int | None:
        """How often the processor's cores were slowed down because of heat, since the machine started."""
        counts = []
        for file in self._cpus.glob(_THROTTLES):
            with suppress(OSError, ValueError):
                counts.append(int(file.read_text("ascii")))
        return sum(counts) if counts else None


def power_source() -> str | None:
    """ "mains" or "battery"; None where the system does not say."""
    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, RuntimeError, ValueError):
        return None
    if battery is None:
        return "mains"  # there is none
    return {True: "mains", False: "battery"}.get(battery.power_plugged)


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return float(sum(getattr(times, name, 0.0) for name in _BUSY))
