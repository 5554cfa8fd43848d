"""The memory plan: will this model run here, with how much context, how fast, and why.

`ModelFacts`, `Hardware` and `Wishes` go in, a `MemoryPlan` comes out. Pure arithmetic; exact sizes may be
handed in from a dry run. Knows nothing about processes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.protocol import KVType


@dataclass(frozen=True, slots=True)
class Wishes:
    """How the model shall be loaded; `n_ctx` None is the trained context, at most 8,192.

    `n_gpu_layers` -1 takes as many as fit. `n_seq_max` sequences share the cells.
    """

    n_ctx: int | None = None
    kv_type: KVType = KVType.F16
    n_gpu_layers: int = -1
    n_seq_max: int = 4
    n_batch: int = 512


class Verdict(enum.StrEnum):
    """The plan in a word."""

    FITS = "fits"
    FITS_PARTLY = "fits_partly"  # with some layers on the GPU, the rest in RAM
    TIGHT = "tight"  # fits, but leaves other programs little
    DOES_NOT_FIT = "does_not_fit"
    CANNOT_CHAT = "cannot_chat"  # not a model that can be loaded for a chat


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """What goes to one device, in bytes; `free` is what is there for it, what will be freed included.

    None where the driver does not say.
    """

    device: str
    weights: int
    kv: int
    state: int
    compute: int
    total: int | None
    free: int | None
    used_by_others: int | None

    @property
    def needed(self) -> int:
        """All that goes there."""
        return self.weights + self.kv + self.state + self.compute


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What loading would take. `available_bytes`: free memory of all devices used, `freed_bytes` included.

    `predicted_tps`: expected tokens a second at an empty context, None where no bandwidth is known;
    `limit_tps`: the bare roofline. `reasons`: sentences for people, the most important first.
    `n_ctx_fitting`: the largest context that would fit, 0 if none. `is_exact`: sizes are llama.cpp's own.
    """

    verdict: Verdict
    n_ctx: int
    n_gpu_layers: int
    kv_type: KVType
    devices: tuple[DevicePlan, ...]
    available_bytes: int
    freed_bytes: int
    predicted_tps: float | None
    limit_tps: float | None
    n_ctx_fitting: int
    reasons: tuple[str, ...]
    is_exact: bool

    @property
    def weights_bytes(self) -> int:
        """Weights on all devices."""
        return sum(device.weights for device in self.devices)

    @property
    def kv_bytes(self) -> int:
        """The KV cache on all devices, recurrent states not included."""
        return sum(device.kv for device in self.devices)

    @property
    def compute_bytes(self) -> int:
        """Compute buffers on all devices."""
        return sum(device.compute for device in self.devices)

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return sum(device.needed for device in self.devices)

    @property
    def fits(self) -> bool:
        """Whether it can be loaded without pressing anything out."""
        return self.verdict in (Verdict.FITS, Verdict.FITS_PARTLY, Verdict.TIGHT)
