from __future__ import annotations

import os
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.memory import hardware
from engine.memory.container_limits import ContainerLimits
from engine.memory.hardware import BandwidthSource, Hardware, read_hardware
from engine.memory.nvidia import Card
from engine.memory.published_bandwidth import published_bandwidth
from engine.protocol import DeviceMemory

GIB = 2**30
CPU = DeviceMemory("CPU", "A processor", "cpu", None, None)
CARD = DeviceMemory("CUDA0", "NVIDIA GeForce RTX 4090", "gpu", 20 * GIB, 24 * GIB)
Memory = namedtuple("Memory", "total available")
Swap = namedtuple("Swap", "total used")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(64 * GIB, 40 * GIB))
    monkeypatch.setattr(psutil, "swap_memory", lambda: Swap(8 * GIB, GIB))
    monkeypatch.setattr(hardware, "_held", lambda pid: {os.getpid(): GIB, 100: 3 * GIB}.get(pid, 0))
    monkeypatch.setattr(hardware, "_has_unified_memory", lambda: False)
    yield


def read(
    *devices: DeviceMemory,
    cards: tuple[Card, ...] | None = None,
    own_pids: tuple[int, ...] = (),
    limits: ContainerLimits | None = None,
) -> Hardware:
    return read_hardware(devices, own_pids, lambda: cards, limits or ContainerLimits())


def test_ram_and_swap_are_the_systems() -> None:
    found = read(CPU)
    assert (found.ram_total, found.ram_available) == (64 * GIB, 40 * GIB)
    assert (found.swap_total, found.swap_used) == (8 * GIB, GIB)
    (cpu,) = found.devices
    assert (cpu.name, cpu.kind, cpu.total, cpu.free) == ("CPU", "cpu", 64 * GIB, 40 * GIB)
    assert cpu.description == found.cpu_name


def test_ram_of_others_is_without_ours() -> None:
    assert read(CPU).devices[0].used_by_others == 23 * GIB
    assert read(CPU, own_pids=(100, 99999999)).devices[0].used_by_others == 20 * GIB


def test_a_container_is_the_machine() -> None:
    found = read(CPU, limits=ContainerLimits(16 * GIB, 10 * GIB, 0, 1.0))
    assert (found.ram_total, found.ram_available, found.swap_total, found.swap_used) == (
        16 * GIB,
        10 * GIB,
        0,
        0,
    )
    assert found.n_physical_cores == 1
    assert found.devices[0].total == 16 * GIB


def test_a_container_may_not_have_more_than_there_is() -> None:
    found = read(CPU, limits=ContainerLimits(500 * GIB, 499 * GIB, 99 * GIB, 512.0))
    assert (found.ram_total, found.ram_available, found.swap_total) == (64 * GIB, 40 * GIB, 8 * GIB)


def test_swap_that_cannot_be_read_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Swap:
        raise RuntimeError("PdhAddEnglishCounterW failed")

    monkeypatch.setattr(psutil, "swap_memory", fail)
    found = read(CPU)
    assert (found.swap_total, found.swap_used) == (0, 0)


def test_without_ggml_there_is_a_processor_still() -> None:
    (cpu,) = read().devices
    assert (cpu.name, cpu.total) == ("CPU", 64 * GIB)


def test_the_processor_comes_first() -> None:
    assert [device.name for device in read(CARD, CPU).devices] == ["CPU", "CUDA0"]


def test_a_card_with_what_others_hold_and_its_bandwidth() -> None:
    processes = {100: 3 * GIB, 7: GIB}
    card = Card(CARD.description, 24 * GIB, 19 * GIB, 4 * GIB, processes, peak_bandwidth=1008e9)
    device = read(CPU, CARD, cards=(card,), own_pids=(100,)).devices[1]
    assert (device.total, device.free, device.used_by_others) == (24 * GIB, 20 * GIB, GIB)
    assert (device.bandwidth, device.bandwidth_source) == (1008e9, BandwidthSource.DRIVER)
    assert not device.shares_ram


def test_without_its_driver_a_card_is_as_ggml_and_the_data_sheet_say() -> None:
    device = read(CPU, CARD, cards=None).devices[1]
    assert (device.free, device.used_by_others) == (20 * GIB, None)
    assert (device.bandwidth, device.bandwidth_source) == (1008e9, BandwidthSource.PUBLISHED)


def test_sizes_that_ggml_does_not_know_are_the_drivers() -> None:
    silent = DeviceMemory("CUDA0", "NVIDIA L4", "gpu", None, None)
    device = read(CPU, silent, cards=(Card("NVIDIA L4", 24 * GIB, 23 * GIB, GIB),)).devices[1]
    assert (device.total, device.free) == (24 * GIB, 23 * GIB)
    assert read(CPU, silent).devices[1].total is None


def test_cards_of_one_name_are_told_apart_by_what_is_free() -> None:
    # ggml counts as CUDA_VISIBLE_DEVICES does, NVML as the bus does.
    first = DeviceMemory("CUDA0", "NVIDIA L4", "gpu", 3 * GIB, 24 * GIB)
    second = DeviceMemory("CUDA1", "NVIDIA L4", "gpu", 23 * GIB, 24 * GIB)
    idle, busy = Card("NVIDIA L4", 24 * GIB, 23 * GIB, GIB), Card("NVIDIA L4", 24 * GIB, 3 * GIB, 21 * GIB)
    devices = read(CPU, first, second, cards=(idle, busy)).devices
    assert [device.used_by_others for device in devices[1:]] == [21 * GIB, GIB]


def test_a_card_of_another_name_is_not_mistaken() -> None:
    assert read(CPU, CARD, cards=(Card("NVIDIA L4", used=5),)).devices[1].used_by_others is None


def test_the_driver_is_not_asked_without_a_card() -> None:
    def fail() -> tuple[Card, ...] | None:
        raise AssertionError("asked")

    blas = DeviceMemory("BLAS", "OpenBLAS", "accel", None, None)
    assert [device.kind for device in read_hardware((CPU, blas), (), fail).devices] == ["cpu", "accel"]


def test_a_graphics_unit_shares_the_ram() -> None:
    unit = DeviceMemory("Vulkan0", "AMD Radeon 780M", "igpu", 60 * GIB, 90 * GIB)
    device = read(CPU, unit).devices[1]
    assert device.shares_ram
    assert (device.total, device.free, device.used_by_others) == (64 * GIB, 40 * GIB, None)


def test_apple_silicon_shares_the_ram(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "_has_unified_memory", lambda: True)
    metal = DeviceMemory("MTL0", "Apple M3 Pro", "gpu", 30 * GIB, 48 * GIB)
    device = read(CPU, metal).devices[1]
    assert device.shares_ram and device.total == 48 * GIB
    assert device.bandwidth == 150e9


def test_memory_of_a_card_that_the_system_counts_too_is_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = {1: (24 * GIB, 20 * GIB)}
    monkeypatch.setattr(hardware, "node_memory", lambda _sys, node: nodes.get(node))
    hopper = Card(CARD.description, 24 * GIB, 20 * GIB, 4 * GIB, numa_node=1)
    found = read(CPU, CARD, cards=(hopper, hopper))
    assert (found.ram_total, found.ram_available) == (40 * GIB, 20 * GIB)
    assert found.devices[1].total == 24 * GIB


@pytest.mark.parametrize(
    ("description", "gigabytes"),
    [
        ("NVIDIA GeForce RTX 4090", 1008),
        ("NVIDIA H200", 4800),
        ("Apple M3 Max", 300),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", 960),
        ("Intel(R) Arc(TM) A770 Graphics", 512),
    ],
)
def test_published_bandwidths(description: str, gigabytes: float) -> None:
    assert published_bandwidth(description) == gigabytes * 1e9


@pytest.mark.parametrize(
    "name", ["", "NVIDIA GeForce RTX 4070 Ti SUPER", "NVIDIA GeForce RTX 4090 Laptop GPU", "M" * 10**6]
)
def test_a_name_that_is_not_known_whole_is_not_guessed(name: str) -> None:
    assert published_bandwidth(name) is None


def test_this_machine_is_read_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    start = time.monotonic()
    found = read_hardware([CPU])
    assert time.monotonic() - start < 1
    assert 0 < found.ram_available <= found.ram_total
    assert found.n_physical_cores >= found.n_performance_cores >= 1
    cpu = found.devices[0]
    assert cpu.used_by_others is not None and 0 <= cpu.used_by_others < found.ram_total


def test_memory_of_a_system_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden() -> None:
        raise PermissionError(13, "Permission denied", "/proc/meminfo")

    monkeypatch.setattr(psutil, "virtual_memory", hidden)
    monkeypatch.setattr(psutil, "swap_memory", hidden)
    found = read_hardware((), limits=ContainerLimits())
    assert found.ram_total == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < found.ram_available <= found.ram_total
    assert (found.swap_total, found.swap_used) == (0, 0)
    monkeypatch.setattr(os, "sysconf", lambda _name: hidden())
    found = read_hardware((), limits=ContainerLimits())
    assert (found.ram_total, found.devices[0].total, found.devices[0].free) == (0, None, None)
