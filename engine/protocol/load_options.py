"""How llama.cpp shall go about loading a model and reading prompts.

`LoadOptions` are what somebody wants, `EffectiveOptions` what a load then really uses: see
`engine.memory.load_options`, which makes the one of the other. Frozen dataclasses and enums of plain values.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.errors import BadRequest

DEFAULT_SEQUENCES = 9
"""Eight variants of a reply, and another chat beside them."""
LARGEST_BATCH = 2**20
"""Tokens; no context of today is longer, and larger ones only waste memory."""


MOST_DRAFTED = 16
"""Tokens that are drafted in one decode at most, for all its replies together: each takes a row of logits."""


class KVType(enum.StrEnum):
    """How the values of the KV cache are stored."""

    F16 = "f16"
    Q8_0 = "q8_0"
    Q4_0 = "q4_0"


class FlashAttention(enum.StrEnum):
    """Whether attention is computed in one pass that keeps no scores; V can only be quantized with it."""

    AUTO = "auto"  # where the device can
    ON = "on"
    OFF = "off"


class Split(enum.StrEnum):
    """How a model is laid over several graphics cards."""

    LAYER = "layer"  # each takes whole layers
    ROW = "row"  # each takes a part of every matrix
    NONE = "none"  # one takes all


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What is wished for beside context, KV type and layers on the GPU; None leaves it to Weir.

    `v_type`: the type of V where it is not that of K. `n_batch`: the most tokens of one decode, `n_ubatch`:
    of those the ones that are computed at once. `main_device`: the card that takes the whole model, by ggml's
    name ("CUDA0"). `mmap`: weights stay in the file, which is mapped. `mlock`: they are never swapped out.

    Raises BadRequest for a batch outside its range.
    """

    v_type: KVType | None = None
    flash_attention: FlashAttention = FlashAttention.AUTO
    n_batch: int | None = None
    n_ubatch: int | None = None
    main_device: str | None = None
    split: Split | None = None
    mmap: bool | None = None
    mlock: bool = False

    def __post_init__(self) -> None:
        for name, value in (("batch", self.n_batch), ("micro-batch", self.n_ubatch)):
            if value is not None and not 1 <= value <= LARGEST_BATCH:
                raise BadRequest(f"The {name} must have 1 to {LARGEST_BATCH:,} tokens, not {value:,}.")


@dataclass(frozen=True, slots=True)
class EffectiveOptions:
    """What a load uses, nothing left open but what llama.cpp itself decides.

    `devices`: the names of the graphics cards that take layers, None are those that llama.cpp chooses.
    `mmap` None maps the file where all devices can read it so.
    """

    k_type: KVType = KVType.F16
    v_type: KVType = KVType.F16
    flash_attention: FlashAttention = FlashAttention.AUTO
    n_batch: int = 512
    n_ubatch: int = 512
    devices: tuple[str, ...] | None = None
    split: Split = Split.LAYER
    mmap: bool | None = None
    mlock: bool = False
