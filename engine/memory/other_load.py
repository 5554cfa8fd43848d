"""How busy other programs keep the processor, which makes a measurement tell little.

Process ids go in, a number of cores comes out. Never raises; what the system does not say counts as calm.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

import psutil

_BUSY_SHARE = 0.15
_IDLE = ("idle", "iowait", "guest", "guest_nice")  # guests are in user time already


class OtherLoad:
    """From when it is made on: what programs other than this process and `pids` compute."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = frozenset(pids) | {os.getpid()}
        self._begun = time.monotonic()
        self._busy, self._ours = _busy_seconds(), self._own_seconds()

    def cores(self) -> float:
        """Cores that others kept busy until now."""
        elapsed = time.monotonic() - self._begun
        others = (_busy_seconds() - self._busy) - (self._own_seconds() - self._ours)
        return max(0.0, others) / elapsed if elapsed > 0 else 0.0

    def disturbs(self) -> bool:
        """Whether they took so much that decoding was slower for it."""
        return self.cores() > _BUSY_SHARE * (psutil.cpu_count() or 1)

    def _own_seconds(self) -> float:
        return sum(map(_process_seconds, self._pids))


def _busy_seconds() -> float:
    try:
        times = psutil.cpu_times()._asdict()
    except (OSError, RuntimeError):
        return 0.0
    return float(sum(seconds for name, seconds in times.items() if name not in _IDLE))


def _process_seconds(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except (psutil.Error, OSError):
        return 0.0
    return float(times.user + times.system)
