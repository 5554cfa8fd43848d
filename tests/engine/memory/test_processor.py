from __future__ import annotations

import struct
from pathlib import Path

import pytest

from engine.memory import processor_linux, processor_windows
from engine.memory.container_limits import ContainerLimits
from engine.memory.processor import read_processor
from tests.engine.memory.fake_trees import cores, write_tree

CPU = "devices/system/cpu/cpu{}/{}"


def test_threads_of_a_core_count_once(tmp_path: Path) -> None:
    sys = write_tree(tmp_path, cores(threads=2, number=4))
    assert processor_linux.count_cores(sys, range(8)) == (4, 4)


def test_kernels_before_5_3_name_the_siblings_otherwise(tmp_path: Path) -> None:
    files = {name.replace("core_cpus", "thread_siblings"): text for name, text in cores(2, 2).items()}
    assert processor_linux.count_cores(write_tree(tmp_path, files), range(4)) == (2, 2)


def test_cores_that_this_process_may_not_use_do_not_count(tmp_path: Path) -> None:
    sys = write_tree(tmp_path, cores(threads=2, number=8))
    assert processor_linux.count_cores(sys, {2, 3, 4}) == (2, 2)


def test_performance_cores_of_an_intel_hybrid(tmp_path: Path) -> None:
    files = {**cores(2, 6), **cores(1, 8, first=12)}  # 6 with two threads, 8 small ones
    pmus = {"devices/cpu_core/cpus": "0-11", "devices/cpu_atom/cpus": "12-19"}
    assert processor_linux.count_cores(write_tree(tmp_path, {**files, **pmus}), range(20)) == (14, 6)


def test_an_intel_hybrid_of_which_only_small_cores_may_be_used(tmp_path: Path) -> None:
    files = {**cores(2, 6), **cores(1, 8, first=12)}
    pmus = {"devices/cpu_core/cpus": "0-11", "devices/cpu_atom/cpus": "12-19"}
    assert processor_linux.count_cores(write_tree(tmp_path, {**files, **pmus}), range(12, 20)) == (8, 8)


@pytest.mark.parametrize(
    ("measure", "speeds", "performance"),
    [
        ("cpu_capacity", [446] * 4 + [871] * 3 + [1024], 4),  # a phone: little, big, prime
        ("cpu_capacity", [1024] * 8, 8),
        ("cpufreq/cpuinfo_max_freq", [5100000] * 4 + [3300000] * 8, 4),  # compact Zen cores
        (
            "cpufreq/cpuinfo_max_freq",
            [5400000] * 2 + [5200000] * 6,
            8,
        ),  # favoured cores are no kind of their own
        ("cpu_capacity", ["nonsense"] * 4, 4),
    ],
)
def test_performance_cores_by_their_speed(
    tmp_path: Path, measure: str, speeds: list[object], performance: int
) -> None:
    number = len(speeds)
    files = {CPU.format(cpu, measure): speed for cpu, speed in enumerate(speeds)}
    sys = write_tree(tmp_path, {**cores(1, number), **files})
    assert processor_linux.count_cores(sys, range(number)) == (number, performance)


def test_a_system_without_topology_is_not_guessed(tmp_path: Path) -> None:
    assert processor_linux.count_cores(tmp_path, {0, 1}) is None
    assert processor_linux.count_cores(tmp_path, ()) is None


def test_name_of_the_processor(tmp_path: Path) -> None:
    write_tree(tmp_path, {"cpuinfo": "processor\t: 0\nmodel name\t: AMD Ryzen 7 7840U\nprocessor\t: 1"})
    assert processor_linux.cpu_name(tmp_path) == "AMD Ryzen 7 7840U"
    assert processor_linux.cpu_name(tmp_path / "missing") is None


def test_the_largest_cache_is_the_last(tmp_path: Path) -> None:
    cache = "devices/system/cpu/cpu0/cache/index{}/size"
    sizes = {cache.format(n): size for n, size in enumerate(["48K", "32K", "2048K", "32768K"])}
    assert processor_linux.last_level_cache(write_tree(tmp_path, sizes)) == 32 * 2**20
    assert processor_linux.last_level_cache(tmp_path / "missing") is None


def test_memory_of_a_node(tmp_path: Path) -> None:
    text = "Node 1 MemTotal:       97615872 kB\nNode 1 MemFree:        97000000 kB\nNode 1 Odd"
    sys = write_tree(tmp_path, {"devices/system/node/node1/meminfo": text})
    assert processor_linux.node_memory(sys, 1) == (97615872 * 1024, 97000000 * 1024)
    assert processor_linux.node_memory(sys, 2) is None


def _record(kind: int, efficiency: int, size: int = 48) -> bytes:
    return struct.pack("<IIBB", kind, size, 1, efficiency).ljust(size, b"\0")


def test_efficiency_classes_of_windows() -> None:
    records = _record(0, 1) + _record(0, 1, size=80) + _record(3, 0) + _record(0, 0)
    assert processor_windows.efficiency_classes(records) == [1, 1, 0]


def test_records_of_windows_that_are_cut_or_endless() -> None:
    assert processor_windows.efficiency_classes(_record(0, 1)[:9]) == []
    assert processor_windows.efficiency_classes(_record(0, 1) + bytes(100)) == [1]


def test_a_quota_bounds_the_cores_and_leaves_at_least_one() -> None:
    everything = read_processor(ContainerLimits())
    assert everything.n_physical_cores >= everything.n_performance_cores >= 1 and everything.name
    starved = read_processor(ContainerLimits(n_cpus=0.5))
    assert (starved.n_physical_cores, starved.n_performance_cores) == (1, 1)
