from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.memory.container_limits import ContainerLimits, read_limits
from tests.engine.memory.fake_trees import write_tree

GIB = 2**30


def limits(tmp_path: Path, membership: str, files: dict[str, object]) -> ContainerLimits:
    proc = write_tree(tmp_path / "proc", {"self/cgroup": membership})
    return read_limits(proc, write_tree(tmp_path / "cgroup", files), lambda: None)


def test_limits_of_a_group(tmp_path: Path) -> None:
    found = limits(
        tmp_path,
        "0::/app.slice/weir.service",
        {
            "app.slice/weir.service/memory.max": 4 * GIB,
            "app.slice/weir.service/memory.current": 3 * GIB,
            "app.slice/weir.service/memory.stat": f"anon 12\nactive_file 7\ninactive_file {GIB}",
            "app.slice/weir.service/memory.swap.max": 0,
            "app.slice/weir.service/cpu.max": "150000 100000",
        },
    )
    assert found == ContainerLimits(4 * GIB, 2 * GIB, 0, 1.5)


def test_a_limit_above_counts_too(tmp_path: Path) -> None:
    found = limits(
        tmp_path,
        "0::/a/b",
        {
            "a/b/memory.max": "max",
            "a/b/memory.current": 1,
            "a/memory.max": 8 * GIB,
            "a/memory.current": 7 * GIB,
            "a/b/cpu.max": "max 100000",
            "a/cpu.max": "400000 100000",
        },
    )
    assert found == ContainerLimits(8 * GIB, GIB, None, 4.0)


def test_memory_that_is_slowed_down_is_a_limit(tmp_path: Path) -> None:
    files: dict[str, object] = {"memory.max": "max", "memory.high": 2 * GIB, "memory.current": 3 * GIB}
    assert limits(tmp_path, "0::/", files) == ContainerLimits(2 * GIB, 0)


def test_a_container_that_is_named_by_its_path_outside(tmp_path: Path) -> None:
    found = limits(tmp_path, "0::/../../docker/0123", {"memory.max": GIB, "memory.current": 0})
    assert found == ContainerLimits(GIB, GIB)


def test_the_first_version_of_control_groups(tmp_path: Path) -> None:
    found = limits(
        tmp_path,
        "9:cpu,cpuacct:/docker/0123\n4:memory:/docker/0123\n0::/",
        {
            "memory/docker/0123/memory.limit_in_bytes": 4 * GIB,
            "memory/docker/0123/memory.usage_in_bytes": 2 * GIB,
            "memory/docker/0123/memory.stat": f"inactive_file 3\ntotal_inactive_file {GIB}",
            "memory/memory.limit_in_bytes": 2**63 - 4096,
            "memory/memory.usage_in_bytes": 9 * GIB,
            "cpu/cpu.cfs_quota_us": 200000,
            "cpu/cpu.cfs_period_us": 100000,
            "cpu/docker/0123/cpu.cfs_quota_us": -1,
        },
    )
    assert found == ContainerLimits(4 * GIB, 3 * GIB, None, 2.0)


def test_no_groups_and_strange_files_are_no_limits(tmp_path: Path) -> None:
    assert read_limits(tmp_path, tmp_path) == ContainerLimits()
    odd: dict[str, object] = {"memory.max": "-5", "memory.swap.max": "9" * 40, "cpu.max": "0 0"}
    assert limits(tmp_path, "nonsense\n0::/", odd) == ContainerLimits()


def test_address_space_is_a_limit_too(tmp_path: Path) -> None:
    found = read_limits(tmp_path, tmp_path, lambda: 2 * GIB)
    assert (found.memory_total, found.memory_available) == (2 * GIB, 2 * GIB)
    assert read_limits(tmp_path, tmp_path, lambda: None) == ContainerLimits()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize(("limit", "told"), [("3000000", "3072000000"), ("unlimited", "None")])
def test_limit_of_the_shell_is_read(limit: str, told: str) -> None:
    code = "from engine.memory.container_limits import address_space; print(address_space())"
    run = subprocess.run(
        ["sh", "-c", f"ulimit -v {limit} && exec {sys.executable} -c '{code}'"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == told
