"""The memory plan: will this model run here, with how much context, how fast, and why.

The values that `engine.memory.planner` takes and gives: `Wishes` and `ExactSizes` go in beside facts and
hardware, a `MemoryPlan` comes out. All sizes in bytes. Knows nothing about how it is counted.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.protocol import DEFAULT_SEQUENCES, EffectiveOptions, KVType, LoadOptions, real_n_ctx

DEFAULT_N_CTX = 8192
UNKNOWN_N_CTX_TRAIN = 4096
_MOST_N_CTX_TRAIN = 2**31 - 1  # llama.cpp keeps it in 32 bits, and takes larger ones for none


def said_n_ctx_train(in_file: int | None) -> int | None:
    """The trained context that the file says, None where it says none or what no context can be."""
    return in_file if in_file and 0 < in_file <= _MOST_N_CTX_TRAIN else None


def trained_n_ctx(in_file: int | None) -> int:
    """The trained context that is taken, of a file that says `in_file`."""
    return said_n_ctx_train(in_file) or UNKNOWN_N_CTX_TRAIN


def default_n_ctx(n_ctx_train: int | None) -> int:
    """The context where none is asked for, of a model that was trained for so many tokens, if it says."""
    return min(DEFAULT_N_CTX, trained_n_ctx(n_ctx_train))


@dataclass(frozen=True, slots=True)
class Wishes:
    """How the model shall be loaded; `n_ctx` None is the trained context, at most 8,192.

    `n_gpu_layers` -1 takes as many as fit. `n_seq_max` sequences share the cells. `kv_type` is K's, and V's
    unless `options` say otherwise.
    """

    n_ctx: int | None = None
    kv_type: KVType = KVType.F16
    n_gpu_layers: int = -1
    n_seq_max: int = DEFAULT_SEQUENCES
    options: LoadOptions = field(default_factory=LoadOptions)


@dataclass(frozen=True, slots=True)
class LoadShape:
    """How a model is loaded, nothing left open; of `n_gpu_layers` the output counts as one.

    `n_ctx` is what is asked for: llama.cpp rounds it up to `n_cells`.
    """

    n_ctx: int
    n_gpu_layers: int
    n_seq_max: int
    options: EffectiveOptions = field(default_factory=EffectiveOptions)

    @property
    def n_cells(self) -> int:
        """Tokens that the context really has."""
        return real_n_ctx(self.n_ctx)


@dataclass(frozen=True, slots=True)
class ExactSizes:
    """What llama.cpp itself says about a load of this `shape`, from a dry run.

    `layer_devices`: where each layer goes, then the output layer. `kv_bytes`: keys and values of all devices,
    to 10 KB. `compute_bytes`: by device, "CPU" for all of the machine's own memory.
    """

    shape: LoadShape
    layer_devices: tuple[str, ...]
    kv_bytes: int
    compute_bytes: Mapping[str, int]


# The engine's process before it loads anything, and what the one that renders its chat templates has of its
# own: measured.
PROCESS_BYTES = 47 * 2**20


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

    None where the driver does not say. `engine`: what the engine's process needs besides for this model, its
    vocabulary above all; the process itself (`PROCESS_BYTES`) is not in it. `file_cache`: pages of the
    model's file that were read once, since the weights in them were rearranged: the system takes them back
    when it needs room, so they are not needed.
    """

    device: str
    weights: int
    kv: int
    state: int
    compute: int
    total: int | None
    free: int | None
    used_by_others: int | None
    engine: int = 0
    file_cache: int = 0

    @property
    def needed(self) -> int:
        """All that goes there, and stays."""
        return self.weights + self.kv + self.state + self.compute + self.engine


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What loading would take. `available_bytes`: free memory of all devices used, `freed_bytes` included.

    `predicted_tps`: expected tokens a second at an empty context, None where no bandwidth is known;
    `limit_tps`: the bare roofline; `..._full_tps` when the context is full. `is_speed_measured`: a model was
    decoded on these devices before. `reasons`: sentences for people, the most important first.
    `n_ctx_fitting`: the largest context that would fit, 0 if none. `is_exact`: sizes are llama.cpp's own.
    `n_ctx_train`: the trained context, as it is taken.
    `can_insist`: only a card's memory is too small as counted, so that trying could fail but could not make
    the machine swap.
    """

    verdict: Verdict
    shape: LoadShape
    devices: tuple[DevicePlan, ...]
    available_bytes: int
    freed_bytes: int
    predicted_tps: float | None
    limit_tps: float | None
    n_ctx_fitting: int
    reasons: tuple[str, ...]
    is_exact: bool
    can_insist: bool = False
    n_ctx_train: int = _MOST_N_CTX_TRAIN
    predicted_full_tps: float | None = None
    limit_full_tps: float | None = None
    is_speed_measured: bool = False

    @property
    def n_ctx(self) -> int:
        """Tokens of the context, as asked for."""
        return self.shape.n_ctx

    @property
    def n_cells(self) -> int:
        """Tokens of the context, as it is made."""
        return self.shape.n_cells

    @property
    def n_gpu_layers(self) -> int:
        """Layers on the cards, the output as one."""
        return self.shape.n_gpu_layers

    @property
    def kv_type(self) -> KVType:
        """How K is stored."""
        return self.shape.options.k_type

    @property
    def weights_bytes(self) -> int:
        """Weights on all devices."""
        return sum(device.weights for device in self.devices)

    @property
    def kv_bytes(self) -> int:
        """The KV cache on all devices, recurrent states not included."""
        return sum(device.kv for device in self.devices)

    @property
    def state_bytes(self) -> int:
        """Recurrent states on all devices."""
        return sum(device.state for device in self.devices)

    @property
    def engine_bytes(self) -> int:
        """What the engine's process needs besides."""
        return sum(device.engine for device in self.devices)

    @property
    def compute_bytes(self) -> int:
        """Compute buffers on all devices."""
        return sum(device.compute for device in self.devices)

    @property
    def total_bytes(self) -> int:
        """All that the engine's process grows by, once its context is full, but for `file_cache_bytes`."""
        return sum(device.needed for device in self.devices)

    @property
    def file_cache_bytes(self) -> int:
        """Pages of the model's file on top, which can be taken back."""
        return sum(device.file_cache for device in self.devices)

    @property
    def is_context_possible(self) -> bool:
        """Whether the model was trained for such a context; the sizes of an impossible one say nothing."""
        return self.shape.n_ctx <= self.n_ctx_train

    @property
    def fits(self) -> bool:
        """Whether it can be loaded without pressing anything out."""
        return self.verdict in (Verdict.FITS, Verdict.FITS_PARTLY, Verdict.TIGHT)
