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
        choices=[kv_type.value for kv_type in KVType],
        help="how V is stored (default: as --kv-type)",
    )
    add("-b", "--batch-size", type=_batch, metavar="N", help="most tokens of one decode (default 512)")
    add("-ub", "--ubatch-size", type=_batch, metavar="N", help="of those, computed at once (default 512)")
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


def _batch(text: str) -> int:
    number = int(text)
    if not 1 <= number <= LARGEST_BATCH:
        raise argparse.ArgumentTypeError(f"must be 1 to {LARGEST_BATCH}, not {number}")
    return number


# argparse names the type in its message for words that are no number at all.
_batch.__name__ = "number"


def load_options(arguments: argparse.Namespace) -> LoadOptions:
    """What was asked for."""
    v_type = arguments.cache_type_v
    split = arguments.split_mode
    return LoadOptions(
        v_type=KVType(v_type) if v_type else None,
        flash_attention=FlashAttention(arguments.flash_attn),
        n_batch=arguments.batch_size,
        n_ubatch=arguments.ubatch_size,
        main_device=arguments.main_device,
        split=Split(split) if split else None,
        mmap=arguments.mmap,
        mlock=arguments.mlock,
    )
