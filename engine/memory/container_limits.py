"""What the container around this process allows: memory, swap and processor time of its control groups.

The address space of each process (`ulimit -v`) is a limit of memory too. The roots of /proc and of the
control groups go in, so that a test can hand in its own. Promises: both versions of control groups are
understood, each group above counts too, and what is not limited is None.
https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from engine.memory.system_file import read_text, read_whole, whole_number

_DEEPEST = 64
_UNLIMITED = 2**62  # the largest number of pages, in bytes: 2^63 less a page
Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """Bytes, and CPUs' worth of time; None where there is no limit.

    `memory_available`: what is left of the limit; files that can be dropped from the cache count as free.
    """

    memory_total: int | None = None
    memory_available: int | None = None
    swap_total: int | None = None
    n_cpus: float | None = None


def address_space() -> int | None:
    """Bytes of addresses that a process may have, None without a limit or where the system has none such."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY or limit >= _UNLIMITED else limit


def read_limits(
    proc: Path = Path("/proc"),
    groups: Path = Path("/sys/fs/cgroup"),
    read_address_space: Callable[[], int | None] = address_space,
) -> ContainerLimits:
    """Of the groups that this process is in, and of each process; none on systems that know no limits."""
    unified = list(_folders(proc, groups, ""))
    memory = list(_folders(proc, groups, "memory"))
    time = list(_folders(proc, groups, "cpu"))
    totals = [*_each(_memory_limit, unified), *_each(_old_memory_limit, memory)]
    left = [*_each(_memory_left, unified), *_each(_old_memory_left, memory)]
    swap = _each(lambda folder: read_whole(folder / "memory.swap.max"), unified)
    if (addresses := read_address_space()) is not None:
        # Each process has its own. What an engine's takes beside its memory, for libraries and stacks, was
        # measured: 130 MiB with two threads, less than what a plan leaves to the system.
        totals.append(addresses)
        left.append(addresses)
    cpus = [*_each(_quota, unified), *_each(_old_quota, time)]
    return ContainerLimits(
        min(totals, default=None), min(left, default=None), min(swap, default=None), min(cpus, default=None)
    )


def _folders(proc: Path, groups: Path, controller: str) -> Iterator[Path]:
    """Of the group of this process and of all above; the unified hierarchy has the empty name."""
    for line in (read_text(proc / "self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if controller not in controllers.split(","):
            continue
        # Seen from inside a container, a group can be named by the path that it has outside: then
        # nothing is found under it, and the container's own group is the root.
        path = PurePosixPath(*(part for part in PurePosixPath(name).parts if part not in ("/", "..")))
        for group in (path, *path.parents)[:_DEEPEST]:
            yield groups / controller / group


def _each(ask: Callable[[Path], Number | None], folders: Iterable[Path]) -> list[Number]:
    return [answer for folder in folders if (answer := ask(folder)) is not None]


def _memory_limit(folder: Path) -> int | None:
    # Above "high" a group is slowed down until it gives memory back, so it is a limit as good as "max".
    limits = [read_whole(folder / name) for name in ("memory.max", "memory.high")]
    return min((limit for limit in limits if limit is not None), default=None)


def _memory_left(folder: Path) -> int | None:
    used = read_whole(folder / "memory.current")
    return _left(_memory_limit(folder), used, folder, "inactive_file")


def _old_memory_limit(folder: Path) -> int | None:
    limit = read_whole(folder / "memory.limit_in_bytes")
    return None if limit is None or limit >= _UNLIMITED else limit


def _old_memory_left(folder: Path) -> int | None:
    used = read_whole(folder / "memory.usage_in_bytes")
    return _left(_old_memory_limit(folder), used, folder, "total_inactive_file")


def _left(limit: int | None, used: int | None, folder: Path, cached_key: str) -> int | None:
    if limit is None or used is None:
        return None
    cached = 0
    for line in (read_text(folder / "memory.stat") or "").splitlines():
        key, _, value = line.partition(" ")
        if key == cached_key:
            cached = whole_number(value) or 0
    return max(0, min(limit, limit - used + cached))


def _quota(folder: Path) -> float | None:
    quota, _, period = (read_text(folder / "cpu.max") or "").partition(" ")
    return _ratio(whole_number(quota), whole_number(period))


def _old_quota(folder: Path) -> float | None:
    # Without a limit the quota is -1.
    return _ratio(read_whole(folder / "cpu.cfs_quota_us"), read_whole(folder / "cpu.cfs_period_us"))


def _ratio(quota: int | None, period: int | None) -> float | None:
    return quota / period if quota and period else None
