"""The memory of this machine, as its system counts it.

Nothing goes in. Knows nothing about engines or graphics cards.
"""

from __future__ import annotations

from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """Bytes: all there are, and what programs can still have; on Linux files in the cache count as such."""

    total: int
    available: int


def machine_memory() -> MachineMemory:
    """As it is now."""
    memory = psutil.virtual_memory()
    return MachineMemory(memory.total, memory.available)
