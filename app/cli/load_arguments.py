"""The words for how a model is loaded, the same wherever one is; named as llama.cpp's own programs name them.

In: the words of the command line. Out: `LoadOptions`. Imports nothing heavy.
"""

from __future__ import annotations

import argparse

from engine.protocol import LARGEST_BATCH, FlashAttention, KVType, LoadOptions, Split


def add_load_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments to a subcommand's parser."""
    add = parser.add_argument_group("how llama.cpp goes about it").add_argument
    add(
        "-fa",
        "--flash-attn",
        choices=[choice.value for choice in FlashAttention],
        default=FlashAttention.AUTO.value,
        help="flash attention (default auto)",
    )
    add(
        "-ctv",
        "--cache-type-v",
        type=kv_type,
        metavar="NAME",
        help=f"{', '.join(KVType)}: how V is stored (default: as --kv-type)",
    )
    add("-b", "--batch-size", type=_batch, metavar="N", help="most tokens of one decode (default 512)")
    add(
        "-ub",
        "--ubatch-size",
        type=_batch,
        metavar="N",
        help="of those, computed at once (default 512, without a card 128)",
    )
    add("--main-device", metavar="NAME", help="the card that takes the whole model, as doctor names it")
    add(
        "-sm",
        "--split-mode",
        choices=[split.value for split in Split],
        help="over several cards: whole layers, rows of each matrix, or one card alone (default layer)",
    )
    add(
        "--mmap",
        action=argparse.BooleanOptionalAction,
        help="map the file instead of reading it into memory (default: whatever needs less)",
    )
    add("--mlock", action="store_true", help="keep the weights from being swapped out")


def add_speculation(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of drafts to a subcommand's parser."""
    add = parser.add_argument_group("tokens drafted ahead; the text is the same without").add_argument
    add("--draft", metavar="FILE", help="a small model with the same vocabulary that drafts")
    add(
        "--speculation",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="draft where that is faster, from the chat itself too (default: yes)",
    )


def kv_type(text: str) -> KVType:
    """A KV type, in capitals or not."""
    try:
        return KVType(text.lower())
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(KVType)}") from None


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is no whole number") from None


def _batch(text: str) -> int:
    number = whole(text)
    if not 1 <= number <= LARGEST_BATCH:
        raise argparse.ArgumentTypeError(f"must be 1 to {LARGEST_BATCH}, not {number}")
    return number


def load_options(arguments: argparse.Namespace) -> LoadOptions:
    """What was asked for."""
    split = arguments.split_mode
    return LoadOptions(
        v_type=arguments.cache_type_v,
        flash_attention=FlashAttention(arguments.flash_attn),
        n_batch=arguments.batch_size,
        n_ubatch=arguments.ubatch_size,
        main_device=arguments.main_device,
        split=Split(split) if split else None,
        mmap=arguments.mmap,
        mlock=arguments.mlock,
    )
