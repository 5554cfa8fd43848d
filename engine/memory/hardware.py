"""What this machine has: processor, memory, graphics cards, and how fast they read memory.

Nothing goes in; frozen values come out. Promises: never raises for a driver that is missing, hangs or
talks nonsense, what is not known is None; never blocks for longer than its bounds. Knows nothing about
models.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """Something that computes and has memory; sizes in bytes, None where the driver does not say.

    `name` is ggml's ("CPU", "CUDA0"), `kind` "cpu", "gpu", "igpu" or "accel". `used_by_others`: what
    programs other than Weir hold. `bandwidth`: measured bytes a second that it reads from its memory.
    """

    name: str
    description: str
    kind: str
    total: int | None
    free: int | None
    used_by_others: int | None = None
    bandwidth: float | None = None


@dataclass(frozen=True, slots=True)
class Hardware:
    """One machine at one moment. `devices`: the CPU first. Swap and RAM in bytes."""

    cpu_name: str
    n_physical_cores: int
    n_performance_cores: int
    ram_total: int
    ram_available: int
    swap_total: int
    swap_used: int
    devices: tuple[Device, ...]
