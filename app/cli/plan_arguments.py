"""The words of `weir plan`, and the values that they become.

In: the words of the command line. Out: one frozen `PlanOptions`. Imports nothing heavy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field

from app.cli.load_arguments import add_load_options, load_options
from engine.protocol import KVType, LoadOptions

DESCRIPTION = (
    "Tells before anything is loaded whether a model will run here, with how much context, and why. With "
    "--audit it loads the model and tells how far the plan was off."
)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """One question about one file; `n_gpu_layers` -1 takes as many as have room."""

    file: str
    n_ctx: int | None = None
    kv_type: KVType = KVType.F16
    n_gpu_layers: int = -1
    load_options: LoadOptions = field(default_factory=LoadOptions)
    as_json: bool = False
    audits: bool = False


def add_plan(plan: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Add the arguments to the subcommand's parser; `positive` reads a number of at least 1."""
    default = PlanOptions("")
    add = plan.add_argument
    add("file", metavar="FILE", help="a GGUF file; of a split model the first part")
    add("--ctx", type=positive, metavar="N", help="context in tokens")
    add(
        "--kv-type",
        type=KVType,
        choices=list(KVType),
        default=default.kv_type,
        metavar="NAME",
        help=f"{', '.join(KVType)}: how the KV cache is stored (default {default.kv_type})",
    )
    add(
        "-ngl",
        "--gpu-layers",
        type=layers,
        default=default.n_gpu_layers,
        metavar="N",
        help="layers on the GPU, the output as one; -1 takes as many as have room (default -1)",
    )
    add_load_options(plan)
    add("--json", action="store_true", dest="as_json", help="one JSON object")
    add("--audit", action="store_true", help="load the model and compare")


def layers(text: str) -> int:
    """A number of layers on the GPU, -1 for as many as have room."""
    number = int(text)
    if number < -1:
        raise argparse.ArgumentTypeError(f"must be -1 or more, not {number}")
    return number


# argparse names the type in its message for words that are no number at all.
layers.__name__ = "number"


def plan_options(arguments: argparse.Namespace) -> PlanOptions:
    """The options of `weir plan`."""
    return PlanOptions(
        file=arguments.file,
        n_ctx=arguments.ctx,
        kv_type=arguments.kv_type,
        n_gpu_layers=arguments.gpu_layers,
        load_options=load_options(arguments),
        as_json=arguments.as_json,
        audits=arguments.audit,
    )
