"""What a load really uses of what was wished for: options that do not go together are replaced, and told.

`Wishes`, the machine's devices and the model's facts go in; `EffectiveOptions` and a notice for each wish
that is not met come out. The worker, the plan and the settings page all ask here, so that they agree. Knows
nothing about sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from engine.memory.kv_math import padded_cells
from engine.memory.memory_plan import Wishes
from engine.memory.words import Number, Words
from engine.models.model_facts import ModelFacts
from engine.protocol import EffectiveOptions, FlashAttention, KVType, Split

DEFAULT_BATCH = 512
"""Tokens. With llama.cpp's own 2,048 a decode takes seconds on a CPU, and cannot be stopped meanwhile."""
CPU_MICRO_BATCH = 128
"""Tokens computed at once where no card takes part.

A prompt's slices grow beyond it only from 850 tokens a second on (`engine.decoding.slices`). The buffers are
smaller, at 8,192 tokens by 16 MiB for SmolLM2, 93 MiB for 8 B.
"""

# Only this backend has buffers that lie on several devices; with others llama.cpp refuses the model: "device
# CUDA0 does not support split buffers" (make_gpu_buft_list in src/llama-model.cpp).
_SPLITS_ROWS = "SYCL"
# Computed without flash attention whatever is asked for (llama_init_from_model in src/llama-context.cpp).
_NEVER_FLASH = frozenset({"grok"})
_SAME_TYPES = frozenset({"deepseek4"})
# Types whose weights are rearranged for the processor as they are loaded (ggml/src/ggml-cpu/repack.cpp).
_REARRANGED = ("Q4_0", "Q4_K", "IQ4_NL", "MXFP4")

_ROUNDED_BY_FOURS = tuple(kind for kind in _REARRANGED if kind != "Q4_0")
_MOST_WITH_STATE = 4

_V_PLAIN = Words("V can be quantized only with flash attention, which is off: it is stored as f16.")
_BOTH_PLAIN = Words(
    "K and V can be quantized only with flash attention, which is off: they are stored as f16."
)


class NamedDevice(Protocol):
    """A `Device` of the hardware, or ggml's `DeviceMemory`."""

    @property
    def name(self) -> str:
        """ggml's, as "CUDA0"."""

    @property
    def kind(self) -> str:
        """Layers lie on a "gpu" or an "igpu"."""


_Device = TypeVar("_Device", bound=NamedDevice)


@dataclass(frozen=True, slots=True)
class OptionNotice:
    """A sentence about the field of `LoadOptions` that is called `option`: what it becomes, and why."""

    option: str
    sentence: Words


@dataclass(frozen=True, slots=True)
class Settled:
    """What is used, and what had to be told about it."""

    options: EffectiveOptions
    notices: tuple[OptionNotice, ...] = ()

    @property
    def sentences(self) -> tuple[Words, ...]:
        """The notices in words alone."""
        return tuple(notice.sentence for notice in self.notices)


def usable_cards(devices: Sequence[_Device]) -> tuple[_Device, ...]:
    """Those that llama.cpp spreads layers over: graphics units of the processor only without a card."""
    cards = tuple(device for device in devices if device.kind == "gpu")
    return cards or tuple(device for device in devices if device.kind == "igpu")


def n_sequences(asked: int, has_state: bool) -> int:
    """How many sequences a context is made for: a recurrent state is kept for each, in use or not."""
    return min(asked, _MOST_WITH_STATE) if has_state else asked


def most_exact_batch(options: EffectiveOptions, facts: ModelFacts) -> int | None:
    """The most tokens of a decode that are computed as each of them alone, to the bit; None for any number.

    llama.cpp multiplies rearranged weights with four tokens at once in another order than with one; those of
    Q4_0 were found to come out the same nevertheless. On cards nothing of the kind holds.
    """
    if options.devices != () or not any(facts.tensor_bytes.get(kind) for kind in _ROUNDED_BY_FOURS):
        return None
    return 3


def settle(wishes: Wishes, devices: Sequence[NamedDevice] | None, facts: ModelFacts | None) -> Settled:
    """The options that a load uses.

    `devices`: all of the machine's, None where they are not known; so is the model without `facts`. What
    cannot be judged then is taken as it was wished.
    """
    notices: list[OptionNotice] = []
    placed: list[OptionNotice] = []
    split, names = _placed(wishes, devices, placed)
    k_type, v_type, flash_attention = _types(wishes, facts, notices)
    n_batch, n_ubatch = _batches(wishes, CPU_MICRO_BATCH if names == () else DEFAULT_BATCH, notices)
    notices += placed
    is_rearranged = names == () and _is_rearranged(facts)
    options = EffectiveOptions(
        k_type=k_type,
        v_type=v_type,
        flash_attention=_chosen(flash_attention, v_type, names),
        n_batch=n_batch,
        n_ubatch=n_ubatch,
        devices=names,
        split=split,
        mmap=_is_mapped(wishes, is_rearranged, notices),
        mlock=wishes.options.mlock,
    )
    return Settled(options, tuple(notices))


def _chosen(flash_attention: FlashAttention, v_type: KVType, names: tuple[str, ...] | None) -> FlashAttention:
    """Off on a processor alone, if it is left to Weir and nothing else needs it.

    llama.cpp's one-pass kernel for the processor sums f16 values in f16, with a conversion for each: a token
    took 84 to 110 ms with it at 4,096 cells, 29 to 31 without, on two cores; prompts were read as quickly up
    to 2,048. Without it a token's numbers are the same to the bit in whatever batch it is decoded, as replies
    that were stopped or drafted need it (ggml/src/ggml-cpu/ops.cpp has three ways to go with it).
    """
    is_free = flash_attention is FlashAttention.AUTO and v_type is KVType.F16
    return FlashAttention.OFF if is_free and names == () else flash_attention


def _types(
    wishes: Wishes, facts: ModelFacts | None, notices: list[OptionNotice]
) -> tuple[KVType, KVType, FlashAttention]:
    """How K and V are stored. V is quantized along what flash attention reads in one piece."""
    flash_attention = wishes.options.flash_attention
    if facts and facts.architecture in _NEVER_FLASH:
        if flash_attention is FlashAttention.ON:
            sentence = Words("This model is computed without flash attention.")
            notices.append(OptionNotice("flash_attention", sentence))
        flash_attention = FlashAttention.OFF
    k_type, v_type = wishes.kv_type, wishes.options.v_type or wishes.kv_type
    is_one = facts is not None and _keeps_one_type(facts)
    if is_one and v_type is not k_type:
        sentence = Words("This model keeps K and V in one: V is stored as K is, {type}.", type=k_type.value)
        notices.append(OptionNotice("v_type", sentence))
        v_type = k_type
    if flash_attention is FlashAttention.OFF and v_type is not KVType.F16:
        notices.append(OptionNotice("flash_attention", _BOTH_PLAIN if is_one else _V_PLAIN))
        v_type = KVType.F16
        k_type = KVType.F16 if is_one else k_type
    return k_type, v_type, flash_attention


def _keeps_one_type(facts: ModelFacts) -> bool:
    """Whether llama.cpp wants one type for K and V: with latent attention V is a part of K."""
    is_latent = any(layer.key_values and not layer.value_values for layer in facts.layers)
    return is_latent or facts.architecture in _SAME_TYPES


def _batches(wishes: Wishes, usual_micro: int, notices: list[OptionNotice]) -> tuple[int, int]:
    """Tokens of a decode, and of those the ones that are computed at once."""
    wished, wished_micro = wishes.options.n_batch, wishes.options.n_ubatch
    n_batch = wished or max(DEFAULT_BATCH, wished_micro or 0)
    if n_batch < wishes.n_seq_max:
        n_batch = wishes.n_seq_max
        n = Number(n_batch)
        sentence = Words("A batch has room for a token of each of {n} chats: it has {n} tokens.", n=n)
        notices.append(OptionNotice("n_batch", sentence))
    if wishes.n_ctx is not None and n_batch > padded_cells(wishes.n_ctx):
        n_batch = padded_cells(wishes.n_ctx)
        if wished:
            sentence = Words("A batch is no longer than the context: it has {n} tokens.", n=Number(n_batch))
            notices.append(OptionNotice("n_batch", sentence))
    n_ubatch = wished_micro or usual_micro
    if wished_micro and n_ubatch > n_batch:
        sentence = Words("A micro-batch is a part of the batch: it has {n} tokens.", n=Number(n_batch))
        notices.append(OptionNotice("n_ubatch", sentence))
    return n_batch, min(n_ubatch, n_batch)


def _placed(
    wishes: Wishes, devices: Sequence[NamedDevice] | None, notices: list[OptionNotice]
) -> tuple[Split, tuple[str, ...] | None]:
    """How the model is laid over cards, and over which; None leaves them to llama.cpp."""
    options = wishes.options
    cards = None if devices is None else usable_cards(devices)
    main = _main_device(options.main_device, devices, notices)
    split = options.split or (Split.NONE if main else Split.LAYER)
    if wishes.n_gpu_layers == 0 or cards == ():
        return Split.LAYER, ()
    if main and split is not Split.NONE:
        sentence = Words(
            "{card} takes the whole model only where it is not split: the main device does not count.",
            card=main,
        )
        notices.append(OptionNotice("main_device", sentence))
    if split is Split.ROW and cards and not all(card.name.startswith(_SPLITS_ROWS) for card in cards):
        sentence = Words(
            "{card} cannot share the rows of one matrix: whole layers are split instead.", card=cards[0].name
        )
        notices.append(OptionNotice("split", sentence))
        split = Split.LAYER
    if split is not Split.NONE:
        return split, None
    return split, (main,) if main else None if cards is None else (cards[0].name,)


def _main_device(
    wished: str | None, devices: Sequence[NamedDevice] | None, notices: list[OptionNotice]
) -> str | None:
    if wished is None or devices is None:
        return wished
    if any(device.name == wished and device.kind in ("gpu", "igpu") for device in devices):
        return wished
    sentence = Words("There is no graphics card called {name} here: Weir chooses by itself.", name=wished)
    notices.append(OptionNotice("main_device", sentence))
    return None


def _is_rearranged(facts: ModelFacts | None) -> bool:
    """Whether most weights are rearranged for the processor, which happens where no card takes part."""
    if facts is None:
        return False
    return 2 * sum(facts.tensor_bytes.get(kind, 0) for kind in _REARRANGED) > facts.weights_bytes


def _is_mapped(wishes: Wishes, is_rearranged: bool, notices: list[OptionNotice]) -> bool | None:
    """Whether the file is mapped; None maps it where all devices can read it so.

    Weights that are rearranged lie in memory twice if the file is mapped too. Measured with 626 MiB of Q4_K
    on two cores, mapped against read: 1,208 against 727 MiB resident; loaded warm in 0.9 against 1.6 s, cold
    in 1.4 against 1.7 s; decoded equally fast. Within a limit of 760 MiB, mapped: 390 ms a token, since the
    pages that are still read are pressed out; read: 79 ms. A second for each GB, once, is the smaller price.
    """
    options = wishes.options
    if not options.mlock:
        return False if options.mmap is None and is_rearranged else options.mmap
    # Mapped, llama.cpp would lock the file up to the last tensor in use, what lies elsewhere included.
    if options.mmap:
        sentence = Words("Weights that are locked are read into memory, not mapped.")
        notices.append(OptionNotice("mmap", sentence))
    if is_rearranged:
        sentence = Words(
            "Most of this model's weights are rearranged for the processor: those are not locked."
        )
        notices.append(OptionNotice("mlock", sentence))
    return False
