"""What this machine has: processor, memory, graphics cards, and how fast they read memory.

ggml's devices go in; frozen values come out. Promises: never raises for a driver that is missing, hangs or
talks nonsense, what is not known is None; never blocks for longer than its bounds. Knows nothing about
models.
"""

from __future__ import annotations

import enum
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.memory.container_limits import ContainerLimits, read_limits
from engine.memory.kernel_speed import KernelSpeed
from engine.memory.nvidia import Card, CardReader, used_by_others
from engine.memory.processor import read_processor
from engine.memory.processor_linux import node_memory
from engine.memory.published_bandwidth import published_bandwidth
from engine.protocol import DeviceMemory


class BandwidthSource(enum.StrEnum):
    """How a device's bandwidth is known, the best first."""

    MEASURED = "measured"  # a streaming read on this machine
    DRIVER = "driver"  # width and clock of its memory, as the driver says
    PUBLISHED = "published"  # the maker's data sheet


@dataclass(frozen=True, slots=True)
class Device:
    """Something that computes and has memory; sizes in bytes, None where the driver does not say.

    `name` is ggml's ("CPU", "CUDA0"), `kind` "cpu", "gpu", "igpu" or "accel". `used_by_others`: what
    programs other than Weir hold. `bandwidth`: bytes a second that it reads from its memory at best.
    `shares_ram`: its memory is a part of the machine's, not beside it. `kernels`: how fast it computes.
    """

    name: str
    description: str
    kind: str
    total: int | None
    free: int | None
    used_by_others: int | None = None
    bandwidth: float | None = None
    bandwidth_source: BandwidthSource | None = None
    shares_ram: bool = False
    kernels: KernelSpeed | None = None


@dataclass(frozen=True, slots=True)
class Hardware:
    """One machine at one moment. `devices`: the CPU first. Swap and RAM in bytes.

    Of a container, what it may use; 0 where the system does not say. RAM leaves out the memory of graphics
    cards that the system counts too.
    `last_level_cache`: bytes of the processor's, None where the system does not say.
    """

    cpu_name: str
    n_physical_cores: int
    n_performance_cores: int
    ram_total: int
    ram_available: int
    swap_total: int
    swap_used: int
    devices: tuple[Device, ...]
    last_level_cache: int | None = None


@dataclass(frozen=True, slots=True)
class _RAM:
    total: int
    available: int


_card_reader = CardReader()


def read_hardware(
    devices: Sequence[DeviceMemory],
    own_pids: Iterable[int] = (),
    read_cards: Callable[[], tuple[Card, ...] | None] = _card_reader.read,
    limits: ContainerLimits | None = None,
) -> Hardware:
    """The machine as it is now, within about 2 s. `devices` are ggml's, empty where it could not be asked.

    `own_pids`: Weir's workers, whose memory is not that of others. `limits`: None reads them.
    """
    limits = read_limits() if limits is None else limits
    processor = read_processor(limits)
    has_card = any(device.kind in ("gpu", "igpu") for device in devices)
    cards = (read_cards() if has_card else None) or ()
    ram = _read_ram(limits, cards)
    swap_total, swap_used = _read_swap(limits)
    pids = frozenset(own_pids)
    cpu = next((device for device in devices if device.kind == "cpu"), None)
    pairs = _pair([device for device in devices if device.kind != "cpu"], cards)
    return Hardware(
        cpu_name=processor.name,
        n_physical_cores=processor.n_physical_cores,
        n_performance_cores=processor.n_performance_cores,
        ram_total=ram.total,
        ram_available=ram.available,
        swap_total=swap_total,
        swap_used=swap_used,
        devices=(
            _cpu(cpu, processor.name, ram, pids),
            *(_device(device, card, cards, ram, pids) for device, card in pairs),
        ),
        last_level_cache=processor.last_level_cache,
    )


def _read_ram(limits: ContainerLimits, cards: Iterable[Card]) -> _RAM:
    total, available = _system_ram()
    for node in {card.numa_node for card in cards if card.numa_node is not None}:
        of_card = node_memory(Path("/sys"), node)
        if of_card is not None and of_card[0] < total:
            total, available = total - of_card[0], available - of_card[1]
    if limits.memory_total is not None:
        total = min(total, limits.memory_total)
    if limits.memory_available is not None:
        available = min(available, limits.memory_available)
    return _RAM(total, max(0, min(available, total)))


def _system_ram() -> tuple[int, int]:
    """All and what is free; zeros where the system hides both."""
    try:
        memory = psutil.virtual_memory()
    except (OSError, RuntimeError, ValueError, KeyError):  # no /proc
        return _pages("SC_PHYS_PAGES"), _pages("SC_AVPHYS_PAGES")
    return memory.total, memory.available


def _pages(which: str) -> int:
    try:
        return os.sysconf(which) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


def _read_swap(limits: ContainerLimits) -> tuple[int, int]:
    try:
        swap = psutil.swap_memory()
    except (OSError, RuntimeError, ValueError, KeyError):  # no /proc, or Windows without performance counters
        return 0, 0
    total = swap.total if limits.swap_total is None else min(swap.total, limits.swap_total)
    return total, min(swap.used, total)


def _cpu(cpu: DeviceMemory | None, name: str, ram: _RAM, own_pids: frozenset[int]) -> Device:
    others = ram.total - ram.available - sum(map(_held, own_pids | {os.getpid()}))
    return Device(
        name="CPU" if cpu is None else cpu.name,
        description=name,
        kind="cpu",
        total=ram.total or None,
        free=ram.available if ram.total else None,
        used_by_others=max(0, others) if ram.total else None,
    )


def _held(pid: int) -> int:
    """RAM that a process takes from the others: mapped files can be dropped, so they do not count."""
    try:
        memory = psutil.Process(pid).memory_info()
    except psutil.Error:
        return 0
    return max(0, memory.rss - getattr(memory, "shared", 0))


def _pair(devices: Sequence[DeviceMemory], cards: Sequence[Card]) -> list[tuple[DeviceMemory, Card | None]]:
    """Each device with the card that it is.

    ggml's numbers follow CUDA's order and CUDA_VISIBLE_DEVICES, NVML's the bus. Of several cards of one
    name, the one is taken whose free memory is most alike.
    """
    left = list(cards)
    pairs: list[tuple[DeviceMemory, Card | None]] = []
    for device in devices:
        alike = [card for card in left if card.name == device.description]
        free = device.free or 0
        card = min(alike, key=lambda card: abs((card.free or 0) - free), default=None)
        if card is not None:
            left.remove(card)
        pairs.append((device, card))
    return pairs


def _device(
    device: DeviceMemory, card: Card | None, cards: tuple[Card, ...], ram: _RAM, own_pids: frozenset[int]
) -> Device:
    shares_ram = device.kind == "igpu" or (device.kind == "gpu" and _has_unified_memory())
    total = device.total if device.total is not None or card is None else card.total
    free = device.free if device.free is not None or card is None else card.free
    bandwidth, source = _known_bandwidth(device, card)
    return Device(
        name=device.name,
        description=device.description,
        kind=device.kind,
        total=min(total, ram.total) if shares_ram and total is not None else total,
        free=min(free, ram.available) if shares_ram and free is not None else free,
        used_by_others=None if shares_ram or card is None else used_by_others(cards, card, own_pids),
        bandwidth=bandwidth,
        bandwidth_source=source,
        shares_ram=shares_ram,
    )


def _has_unified_memory() -> bool:
    """Metal calls the processor of Apple silicon a GPU like any other."""
    return sys.platform == "darwin" and platform.machine() == "arm64"


def _known_bandwidth(device: DeviceMemory, card: Card | None) -> tuple[float | None, BandwidthSource | None]:
    if device.kind not in ("gpu", "igpu"):
        return None, None
    if card is not None and card.peak_bandwidth is not None:
        return card.peak_bandwidth, BandwidthSource.DRIVER
    published = published_bandwidth(device.description)
    return published, None if published is None else BandwidthSource.PUBLISHED
