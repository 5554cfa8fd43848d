"""The words of `weir plan`, and the values that they become.

In: the words of the command line. Out: one frozen `PlanOptions`. Imports nothing heavy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field

from app.cli.load_arguments import add_load_options, kv_type, load_options, whole
from engine.protocol import KVType, LoadOptions

_MOST_N_CTX = 10**30  # beyond any claim, and still a number that can be told

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

    def context(text: str) -> int:
        n_ctx = positive(text)
        if n_ctx > _MOST_N_CTX:
            raise argparse.ArgumentTypeError("no context is as long as that")
        return n_ctx

    context.__name__ = "number"
    add("--ctx", type=context, metavar="N", help="context in tokens, made in steps of 256")
    add(
        "--kv-type",
        type=kv_type,
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
    number = whole(text)
    if number < -1:
        raise argparse.ArgumentTypeError(f"must be -1 or more, not {number}")
    return number


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
