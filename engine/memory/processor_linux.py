"""The processor of a Linux machine, as /sys and /proc describe it.

The roots of those trees go in, so that a test can hand in its own. Promises: reads small files only, and a
missing or strange one is None. Knows nothing about limits of containers.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from engine.memory.system_file import read_cpu_list, read_text, read_whole, whole_number

# Where cores differ, the slow ones reach 0.2 to 0.65 of the fastest (capacity of Arm's little cores, clock
# of compact Zen cores), while cores of one kind lie within 0.8 (favoured cores, a phone's prime core).
_LEAST_SHARE = 0.7


def cpu_name(proc: Path) -> str | None:
    """What the processor calls itself; Arm's do not."""
    for line in (read_text(proc / "cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    return None


def count_cores(sys: Path, allowed: Collection[int]) -> tuple[int, int] | None:
    """Physical and performance cores among the CPUs `allowed`: threads of one core count once."""
    cores: dict[frozenset[int], int] = {}
    for cpu in sorted(allowed):
        siblings = _siblings(sys / f"devices/system/cpu/cpu{cpu}/topology")
        if not siblings:
            return None
        cores.setdefault(siblings, cpu)
    if not cores:
        return None
    return len(cores), _count_performance(sys, sorted(cores.values()))


def _siblings(topology: Path) -> frozenset[int]:
    # Kernels before 5.3 know only the second name.
    return read_cpu_list(topology / "core_cpus_list") or read_cpu_list(topology / "thread_siblings_list")


def _count_performance(sys: Path, cpus: list[int]) -> int:
    """One CPU of each core goes in."""
    performance = read_cpu_list(sys / "devices/cpu_core/cpus")  # Intel's hybrids have a PMU for each kind
    if performance and read_cpu_list(sys / "devices/cpu_atom/cpus"):
        return len(performance.intersection(cpus)) or len(cpus)
    for measure in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
        speeds = [read_whole(sys / f"devices/system/cpu/cpu{cpu}" / measure) or 0 for cpu in cpus]
        if min(speeds) > 0 and max(speeds) > min(speeds):
            return sum(speed >= _LEAST_SHARE * max(speeds) for speed in speeds)
    return len(cpus)


def last_level_cache(sys: Path) -> int | None:
    """Bytes of the first CPU's largest cache."""
    sizes = [
        _kibibytes(read_text(path / "size") or "")
        for path in sorted((sys / "devices/system/cpu/cpu0/cache").glob("index[0-9]"))
    ]
    return max(sizes, default=0) or None


def _kibibytes(text: str) -> int:
    return 1024 * (whole_number(text.removesuffix("K")) or 0)


def node_memory(sys: Path, node: int) -> tuple[int, int] | None:
    """Total and free bytes of a NUMA node."""
    found: dict[str, int] = {}
    for line in (read_text(sys / f"devices/system/node/node{node}/meminfo") or "").splitlines():
        words = line.split()  # Node 1 MemTotal: 97615872 kB
        size = whole_number(words[3]) if len(words) == 5 and words[4] == "kB" else None
        if size is not None:
            found[words[2]] = 1024 * size
    if "MemTotal:" not in found or "MemFree:" not in found:
        return None
    return found["MemTotal:"], found["MemFree:"]
