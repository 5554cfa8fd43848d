"""The memory of this machine, as its system counts it, or that of the container around this process.

The container's limits go in. Knows nothing about engines or graphics cards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import psutil

from engine.memory.container_limits import ContainerLimits, read_limits


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """Bytes: all there are, and what programs can still have; on Linux files in the cache count as such."""

    total: int
    available: int


def machine_memory(read: Callable[[], ContainerLimits] = read_limits) -> MachineMemory:
    """As it is now; `read` tells what may be had of it."""
    memory, limits = psutil.virtual_memory(), read()
    total = memory.total if limits.memory_total is None else min(memory.total, limits.memory_total)
    left = memory.available if limits.memory_available is None else limits.memory_available
    return MachineMemory(total, min(memory.available, left, total))
