"""Who has the memory of each device: the model's weights, the KV cache, buffers, other programs, nobody.

Facts of the model, the engine's gauges and the machine's memory go in; parts come out. Promises: where a
device's total is known, its parts add up to it exactly, or to `n_missing` bytes more where more is allocated
than there is. What is not known is no part. Knows nothing about widgets.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from app.services.machine_memory import MachineMemory
from app.services.plan_result import PlanResult
from engine.memory.memory_plan import PROCESS_BYTES, DevicePlan
from engine.protocol import DeviceBuffers, DeviceMemory, Gauges, ModelInfo


class Use(enum.StrEnum):
    """What memory is used for."""

    WEIGHTS = "weights"
    KV = "kv"
    STATE = "state"  # what recurrent layers keep instead of keys and values
    COMPUTE = "compute"
    ENGINE = "engine"  # what else the engine's process has
    FILE_CACHE = "file_cache"  # pages of the model's file that are not read again, and can be taken back
    WEIR = "weir"  # what this program has besides the engine
    OTHERS = "others"  # other programs
    SOMEBODY = "somebody"  # in use, and llama.cpp did not say how much of it is the model's
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Part:
    """So many bytes of a device."""

    use: Use
    n_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceSplit:
    """One device; `total` None where its driver does not say, and then nothing is known of what is free.

    `name` is "" for the machine's own memory.
    """

    name: str
    description: str
    total: int | None
    parts: tuple[Part, ...]

    @property
    def n_missing(self) -> int:
        """Bytes that are allocated beyond what there is."""
        return 0 if self.total is None else max(0, sum(p.n_bytes for p in self.parts) - self.total)

    def bytes_of(self, use: Use) -> int | None:
        """How much is used for `use`, None where that is not known."""
        return next((part.n_bytes for part in self.parts if part.use is use), None)


def planned_split(result: PlanResult) -> tuple[DeviceSplit, ...]:
    """How it will be once the planned model is loaded; without a plan nothing is known."""
    if result.plan is None or result.hardware is None:
        return ()
    described = {device.name: device.description for device in result.hardware.devices}
    *cards, host = result.plan.devices
    return (
        *(_planned(card, card.device, described.get(card.device, "")) for card in cards),
        _planned(host, "", "", PROCESS_BYTES),
    )


def _planned(device: DevicePlan, name: str, description: str, process_bytes: int = 0) -> DeviceSplit:
    parts: tuple[Part, ...] = (
        Part(Use.WEIGHTS, device.weights),
        Part(Use.KV, device.kv),
        Part(Use.STATE, device.state),
        Part(Use.COMPUTE, device.compute),
        Part(Use.ENGINE, device.engine + process_bytes),
    )
    if device.total is None or device.free is None:
        return DeviceSplit(name, description, device.total, parts)
    used = max(0, device.total - device.free)
    if device.used_by_others is None:
        rest: tuple[Part, ...] = (Part(Use.SOMEBODY, used),)
    else:
        others = min(used, device.used_by_others)
        rest = (Part(Use.WEIR, used - others), Part(Use.OTHERS, others))
    left = max(0, device.free - device.needed - process_bytes)
    cached = min(left, device.file_cache)
    rest = (*rest, Part(Use.FILE_CACHE, cached)) if cached else rest
    return DeviceSplit(name, description, device.total, (*parts, *rest, Part(Use.FREE, left - cached)))


def split_memory(
    info: ModelInfo | None, gauges: Gauges | None, machine: MachineMemory
) -> tuple[DeviceSplit, ...]:
    """The graphics cards in their order, then the machine's own memory."""
    devices = gauges.devices if gauges else info.devices if info else ()
    cards = [device for device in devices if device.kind in ("gpu", "igpu") or _is_accelerator(device)]
    buffers = info.buffers if info else ()
    names = {card.name for card in cards}
    of_host = [entry for entry in buffers if entry.device not in names]
    use = Use.SOMEBODY if info and not buffers else Use.OTHERS
    splits = [_card(card, [entry for entry in buffers if entry.device == card.name], use) for card in cards]
    known_kv = info.kv_bytes if info and not buffers and not cards else None
    return (*splits, _host(of_host, known_kv, gauges, machine))


def _is_accelerator(device: DeviceMemory) -> bool:
    """Whether it has memory of its own; libraries for fast arithmetic are devices too, without any."""
    return device.kind == "accel" and bool(device.total)


def _card(card: DeviceMemory, buffers: Sequence[DeviceBuffers], use_of_rest: Use) -> DeviceSplit:
    parts = _allocated(buffers)
    if card.total is None or card.total <= 0:
        return DeviceSplit(card.name, card.description, None, parts)
    own = sum(part.n_bytes for part in parts)
    if card.free is not None:
        used = max(0, card.total - card.free)
        others = max(0, min(used, card.total) - own)
        parts = (*parts, Part(use_of_rest, others), Part(Use.FREE, max(0, card.total - own - others)))
    return DeviceSplit(card.name, card.description, card.total, parts)


def _host(
    buffers: Sequence[DeviceBuffers], known_kv: int | None, gauges: Gauges | None, machine: MachineMemory
) -> DeviceSplit:
    parts = _allocated(buffers) if buffers or known_kv is None else (Part(Use.KV, known_kv),)
    allocated = sum(part.n_bytes for part in parts)
    resident = gauges.rss_bytes if gauges else 0
    cached = min(max(0, resident - allocated), sum(entry.file_cache for entry in buffers))
    # Allocated is not yet resident before it is touched; it is taken all the same.
    engine = max(allocated, resident)
    # Pages of the model's file belong to the engine, and Linux counts them among what is available.
    private = max(0, resident - (gauges.rss_file_bytes or 0 if gauges else 0))
    others = max(0, min(machine.total - machine.available - private, machine.total - engine))
    if gauges:
        parts = (*parts, Part(Use.ENGINE, engine - allocated - cached))
        parts = (*parts, Part(Use.FILE_CACHE, cached)) if cached else parts
    free = Part(Use.FREE, max(0, machine.total - engine - others))
    return DeviceSplit("", "", machine.total, (*parts, Part(Use.OTHERS, others), free))


def _allocated(buffers: Sequence[DeviceBuffers]) -> tuple[Part, ...]:
    if not buffers:
        return ()
    return (
        Part(Use.WEIGHTS, sum(entry.weights for entry in buffers)),
        Part(Use.KV, sum(entry.kv for entry in buffers)),
        Part(Use.COMPUTE, sum(entry.compute for entry in buffers)),
    )
