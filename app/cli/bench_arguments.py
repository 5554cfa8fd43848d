"""The words of `weir bench`, named as `llama-bench` names its own, and the grid that they become.

In: the words of the command line. Out: one frozen `BenchOptions`. A list separated by commas gives a case for
each of its values, in `llama-bench`'s order. What only the engine can judge is left to it.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from app.data.bench_columns import FORM_NAMES
from engine.errors import BadRequest
from engine.protocol import Bench, BenchCase, FlashAttention, KVType

DESCRIPTION = (
    "Measures how fast models read prompts and write replies here, as llama-bench does, and beside it a "
    "whole chat. Values separated by commas, and ranges such as 16-64+16 or 16-128*2, are measured one after "
    "the other. Ctrl+C keeps what was measured."
)
_FLASH = {"0": "off", "1": "on", "-1": "auto"}
_KV_TYPES = ", ".join(KVType)
_MOST_VALUES = 1000
_RANGE = re.compile(r"([0-9]{1,10})-([0-9]{1,10})(?:([+*])([0-9]{1,10}))?")

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """One benchmark as it was asked for; without `models` the choice is Weir's."""

    models: tuple[str, ...] = ()
    cases: tuple[BenchCase, ...] = ()
    repetitions: int = 5
    warm_up: bool = True
    output: str = "md"
    whole_paths: bool = False

    def command(self, path: str) -> Bench:
        """The engine's command for the model file at `path`. Raises BadRequest."""
        return Bench(path, self.cases, self.repetitions, self.warm_up)


def add_bench(bench: argparse.ArgumentParser) -> None:
    """Add the arguments to the subcommand's parser."""
    add = bench.add_argument
    add("models", nargs="*", metavar="MODEL", help="GGUF files; else the last one or the starter")
    add("-p", "--n-prompt", type=_numbers(0), default=[512], metavar="N,..", help="prompts (default 512)")
    add("-n", "--n-gen", type=_numbers(0), default=[128], metavar="N,..", help="replies (default 128)")
    add("-pg", type=_pair, action="append", default=[], metavar="P,N", help="a prompt, then a reply")
    add("-d", "--n-depth", type=_numbers(0), default=[0], metavar="N,..", help="tokens before (default 0)")
    add("-r", "--repetitions", type=_positive, default=5, metavar="N", help="of each case (default 5)")
    add("-t", "--threads", type=_numbers(1), default=[None], metavar="N,..", help="CPU threads")
    add("-ngl", "--n-gpu-layers", type=_numbers(-1), default=[-1], metavar="N,..", help="layers on the GPU")
    add(
        "-fa",
        "--flash-attn",
        type=_list(_flash),
        default=[FlashAttention.AUTO],
        metavar="0|1|auto",
        help="flash attention (default auto)",
    )
    add(
        "-ctk",
        "--cache-type-k",
        type=_list(_kv_type),
        default=[KVType.F16],
        metavar="T,..",
        help=f"of keys: {_KV_TYPES}",
    )
    add(
        "-ctv",
        "--cache-type-v",
        type=_list(_kv_type),
        default=[KVType.F16],
        metavar="T,..",
        help=f"of values: {_KV_TYPES}",
    )
    add("-b", "--batch-size", type=_numbers(1), default=[2048], metavar="N,..", help="(default 2048)")
    add("-ub", "--ubatch-size", type=_numbers(1), default=[512], metavar="N,..", help="(default 512)")
    add("--no-warmup", action="store_true", help="measure from the first run on")
    add(
        "--no-chat",
        action="store_true",
        help="leave out the chat, which is measured with the first -p and -n",
    )
    add("--whole-paths", action="store_true", help="do not shorten paths to the names of files")
    add("-o", "--output", choices=FORM_NAMES, default="md", help="form (default md)")


def bench_options(arguments: argparse.Namespace) -> BenchOptions:
    """The options of `weir bench`. Raises BadRequest for what cannot be measured."""
    if not all(map(str.strip, arguments.models)):
        raise BadRequest("A model's path is empty: name a GGUF file.")
    return BenchOptions(
        models=tuple(arguments.models),
        cases=tuple(_grid(arguments)),
        repetitions=arguments.repetitions,
        warm_up=not arguments.no_warmup,
        output=arguments.output,
        whole_paths=arguments.whole_paths,
    )


def _grid(arguments: argparse.Namespace) -> Iterable[BenchCase]:
    """The cases in the order that reloads least; chats last of each load, as they want the memory."""
    prompts = [(n_prompt, 0) for n_prompt in arguments.n_prompt if n_prompt]
    replies = [(0, n_gen) for n_gen in arguments.n_gen if n_gen]
    both = [pair for pair in arguments.pg if any(pair)]
    chat = (arguments.n_prompt[0], arguments.n_gen[0])
    chats = [] if arguments.no_chat or not chat[0] or chat[1] < 2 else [chat]
    for n_gpu_layers in arguments.n_gpu_layers:
        shapes = list(
            itertools.product(
                arguments.batch_size,
                arguments.ubatch_size,
                arguments.cache_type_k,
                arguments.cache_type_v,
                arguments.flash_attn,
                arguments.threads,
                arguments.n_depth,
            )
        )
        for tests, is_chat in (([*prompts, *replies, *both], False), (chats, True)):
            for shape, (n_prompt, n_gen) in itertools.product(shapes, tests):
                n_batch, n_ubatch, k_type, v_type, flash_attention, n_threads, n_depth = shape
                yield BenchCase(
                    n_prompt=n_prompt,
                    n_gen=n_gen,
                    n_depth=n_depth,
                    n_batch=n_batch,
                    n_ubatch=n_ubatch,
                    k_type=k_type,
                    v_type=v_type,
                    flash_attention=flash_attention,
                    n_threads=n_threads,
                    n_gpu_layers=n_gpu_layers,
                    is_chat=is_chat,
                )


# --- values ---------------------------------------------------------------------------------------


def _list(read: Callable[[str], Value]) -> Callable[[str], list[Value]]:
    """Values between commas."""
    return lambda text: [read(part.strip()) for part in text.split(",")]


def _numbers(least: int) -> Callable[[str], list[int]]:
    """Numbers and ranges between commas."""
    return lambda text: [
        number for part in text.split(",") for number in (_range(part.strip()) or [_number(part, least)])
    ]


def _range(text: str) -> list[int] | None:
    """The numbers of `first-last`, `first-last+step` or `first-last*factor`; None if it is no range."""
    match = _RANGE.fullmatch(text)
    if not match:
        return None
    number, last, step = int(match[1]), int(match[2]), int(match[4] or 1)
    grows = step > 1 and number > 0 if match[3] == "*" else step > 0
    numbers: list[int] = []
    while grows and number <= last and len(numbers) <= _MOST_VALUES:
        numbers.append(number)
        number = number * step if match[3] == "*" else number + step
    if not 0 < len(numbers) <= _MOST_VALUES:
        raise argparse.ArgumentTypeError(
            f"{text} is no range of 1 to {_MOST_VALUES:,} numbers, as 16-128*2 or 16-64+16 is"
        )
    return numbers


def _number(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of {least} or more")
    return number


def _count(text: str) -> int:
    return _number(text, 0)


def _positive(text: str) -> int:
    return _number(text, 1)


def _kv_type(text: str) -> KVType:
    try:
        return KVType(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no type of the cache: choose from {_KV_TYPES}"
        ) from None


def _flash(text: str) -> FlashAttention:
    try:
        return FlashAttention(_FLASH.get(text, text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not 0, 1 or auto") from None


def _pair(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2:
        raise argparse.ArgumentTypeError(f"{text!r} is no pair of a prompt and a reply, as 512,128 is")
    return _count(parts[0].strip()), _count(parts[1].strip())
