"""What llama.cpp allocated and where, from the only place where it says so: its log.

    load_tensors:        CUDA0 model buffer size =  2375.13 MiB
    llama_kv_cache:      CUDA0 KV buffer size =   448.00 MiB

Lines go in, bytes for each device come out. Knows nothing about who wrote the lines or when.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.protocol import DeviceBuffers

# "RS" is the state of recurrent layers, "output" the logits of a batch.
_SIZE = re.compile(r"\w+: +(\S+) +(model|KV|RS|compute|output) buffer size = +([0-9.]+) MiB")
_KINDS = {"model": "weights", "KV": "kv", "RS": "kv", "compute": "compute", "output": "compute"}
_HOST = "CPU"
_MAPPED, _REARRANGED = "CPU_Mapped", "CPU_"


@dataclass(frozen=True, slots=True)
class BufferSizes:
    """Bytes by the name that llama.cpp gives a buffer, as `CUDA0`, `CUDA_Host`, `CPU_Mapped`.

    `file_cache`: as in `DeviceBuffers`; `weights` and `file_cache` together are what the log says.
    """

    weights: Mapping[str, int] = field(default_factory=dict)
    kv: Mapping[str, int] = field(default_factory=dict)
    compute: Mapping[str, int] = field(default_factory=dict)
    file_cache: Mapping[str, int] = field(default_factory=dict)


def read_sizes(log: Iterable[str]) -> BufferSizes:
    """The sizes that these lines of the log tell, added up for each name."""
    sizes: dict[str, dict[str, int]] = {"weights": {}, "kv": {}, "compute": {}}
    for match in filter(None, map(_SIZE.match, log)):
        name, kind, size = match.groups()
        known = sizes[_KINDS[kind]]
        known[name] = known.get(name, 0) + round(float(size) * 2**20)
    return BufferSizes(**sizes)


def counted_once(sizes: BufferSizes, size_bytes: int) -> BufferSizes:
    """`sizes` of a model whose tensors take `size_bytes`, with what lies in memory twice told apart.

    Weights that llama.cpp rearranges for the processor lie in a buffer of their own, as `CPU_REPACK`. The
    buffer of the mapped file spans them still, but nobody reads these pages again.
    """
    others = {name: size for name, size in sizes.weights.items() if name != _MAPPED}
    if _MAPPED not in sizes.weights or not any(name.startswith(_REARRANGED) for name in others):
        return sizes
    spanned = sizes.weights[_MAPPED]
    mapped = min(spanned, max(0, size_bytes - sum(others.values())))
    return replace(sizes, weights={**others, _MAPPED: mapped}, file_cache={_MAPPED: spanned - mapped})


def by_device(
    of_model: BufferSizes, of_context: BufferSizes, devices: Sequence[str]
) -> tuple[DeviceBuffers, ...]:
    """The bytes on each of `devices` that holds any, in their order, the CPU's last.

    A buffer lies on the device whose name it begins with. All others are the machine's own memory,
    `CUDA_Host` too: it is pinned for the driver, not on the card.
    """
    parts = (of_model.weights, of_context.kv, of_context.compute, of_model.file_cache)
    names = [name for name in devices if name != _HOST]
    found = tuple(
        DeviceBuffers(device, *(_bytes_on(device, part, names) for part in parts))
        for device in [*names, _HOST]
    )
    return tuple(one for one in found if one.weights or one.kv or one.compute)


def _bytes_on(device: str, part: Mapping[str, int], names: Sequence[str]) -> int:
    return sum(size for buffer, size in part.items() if _device_of(buffer, names) == device)


def _device_of(buffer: str, names: Sequence[str]) -> str:
    # The longest name, or CUDA10 would be on CUDA1.
    return max((name for name in names if buffer.startswith(name)), key=len, default=_HOST)
