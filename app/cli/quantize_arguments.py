"""The words of `weir quantize`, and the values that they become. Imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from engine.protocol import DEFAULT_KIND, QuantKind

DESCRIPTION = (
    "Makes a smaller and faster model of one in F16, BF16, F32 or Q8_0. The new file goes into Weir's folder "
    "of models; the old one stays as it is. Ctrl+C leaves nothing behind."
)


@dataclass(frozen=True, slots=True)
class QuantizeOptions:
    """One model to quantize as it was asked for; `output` None is Weir's own folder, a folder or a file."""

    model: str
    kind: QuantKind = DEFAULT_KIND
    output: str | None = None
    overwrites: bool = False
    n_threads: int | None = None
    as_json: bool = False


def add_quantize(quantize: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Add the arguments to the subcommand's parser; `positive` reads a number of at least 1."""
    add = quantize.add_argument
    add("model", metavar="MODEL", help="a GGUF file; of a split model the first part")
    kinds = ", ".join(QuantKind)
    add("--to", type=_kind, default=DEFAULT_KIND, metavar="KIND", help=f"{kinds} (default {DEFAULT_KIND})")
    add("-o", "--output", metavar="PATH", help="a file or a folder instead of Weir's own")
    add("--force", action="store_true", dest="overwrites", help="replace a file that is there")
    add("--threads", type=positive, metavar="N", help="CPU threads (default: one for each core)")
    help_json = "one JSON object a line, the last with the path or the reason why there is none"
    add("--json", action="store_true", dest="as_json", help=help_json)


def quantize_options(arguments: argparse.Namespace) -> QuantizeOptions:
    """The options of `weir quantize`."""
    return QuantizeOptions(
        model=arguments.model,
        kind=arguments.to,
        output=arguments.output,
        overwrites=arguments.overwrites,
        n_threads=arguments.threads,
        as_json=arguments.as_json,
    )


def _kind(text: str) -> QuantKind:
    try:
        return QuantKind(text.upper().replace("-", "_"))
    except ValueError:
        kinds = ", ".join(QuantKind)
        raise argparse.ArgumentTypeError(f"must be one of {kinds}, not {text!r:.40}") from None
