"""Whether planned bytes have room: for each memory that devices share, what is needed against what is free.

`DevicePlan`s go in, `Pool`s come out: RAM is one pool with every device that takes its memory from it, each
card with memory of its own is another. Some of each pool is left to the system and other programs, so that
nothing is pressed out of memory. Knows nothing about models.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from engine.memory.hardware import Hardware
from engine.memory.memory_plan import PROCESS_BYTES, DevicePlan

_MIB, _GIB = 2**20, 2**30


class Room(enum.IntEnum):
    """How well something fits, the worst first."""

    NONE = 0
    TIGHT = 1
    AMPLE = 2


@dataclass(frozen=True, slots=True)
class Pool:
    """One memory; `devices` are the names of those that use it, `free` and `total` None if not known.

    `reserve` bytes at least are left; `comfort` bytes should be. `is_part_of_ram`: a limit within RAM's pool.
    `used_by_others`: by other programs.
    """

    devices: tuple[str, ...]
    is_ram: bool
    is_part_of_ram: bool
    needed: int
    total: int | None
    free: int | None
    used_by_others: int | None
    reserve: int
    comfort: int

    @property
    def room(self) -> Room:
        """Whether it fits; what is not known does."""
        if self.free is None or not self.needed:
            return Room.AMPLE
        left = self.free - self.needed
        if left >= self.comfort:
            return Room.AMPLE
        return Room.TIGHT if left >= self.reserve else Room.NONE

    @property
    def would_fit_alone(self) -> bool:
        """Whether it would fit if other programs held nothing."""
        return self.total is not None and self.needed + self.reserve <= self.total


def pools(devices: Sequence[DevicePlan], hardware: Hardware) -> tuple[Pool, ...]:
    """The memories that these devices use, RAM last."""
    sharing = {device.name for device in hardware.devices if device.shares_ram}
    of_ram = [plan for plan in devices if plan.device in sharing or plan is devices[-1]]
    own = [_card(plan, limit_only=plan.device in sharing) for plan in devices[:-1]]
    total, free = hardware.ram_total, devices[-1].free
    ram = Pool(
        devices=tuple(plan.device for plan in of_ram),
        is_ram=True,
        is_part_of_ram=False,
        needed=sum(plan.needed for plan in of_ram) + PROCESS_BYTES,
        total=total,
        free=free,
        used_by_others=devices[-1].used_by_others,
        reserve=_between(total // 32, 256 * _MIB, _GIB),
        comfort=_between(total // 10, _GIB, 4 * _GIB),
    )
    return (*own, ram)


def worst(found: Sequence[Pool]) -> Room:
    """What holds for all of them together."""
    return min((pool.room for pool in found), default=Room.AMPLE)


def _card(plan: DevicePlan, limit_only: bool) -> Pool:
    """Of a device that shares RAM, its own limit is what it may take; the reserve is RAM's."""
    total = plan.total or 0
    return Pool(
        devices=(plan.device,),
        is_ram=False,
        is_part_of_ram=limit_only,
        needed=plan.needed,
        total=plan.total,
        free=plan.free,
        used_by_others=plan.used_by_others,
        # The driver takes some hundred megabytes for a process before anything is loaded.
        reserve=0 if limit_only else _between(total // 20, 128 * _MIB, 512 * _MIB),
        comfort=0 if limit_only else _between(total // 10, 256 * _MIB, _GIB),
    )


def _between(value: int, least: int, most: int) -> int:
    return max(least, min(most, value))
