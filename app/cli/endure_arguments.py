"""The words of `weir endure`, and the values that they become.

In: the words of the command line. Out: one frozen `EndureOptions`. What only the engine can judge
(the window against the model, the sinks against the window) is left to it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from app.cli.load_arguments import kv_type
from app.data.endurance_export import FORMATS
from engine.protocol import EnduranceRun, Endure, KVType, Shift

DEFAULT_N_CTX = 1024

DESCRIPTION = (
    "Streams a long text through a model and reports perplexity, speed and memory: the proof that sinks and "
    "window go on for ever. Without --text it reads the reference documentation that comes with Python."
)


@dataclass(frozen=True, slots=True)
class EndureOptions:
    """One run as it was asked for; `model` None leaves the choice to Weir."""

    model: str | None = None
    n_ctx: int = DEFAULT_N_CTX
    n_tokens: int = 20_000
    n_sinks: int = 4
    run: EnduranceRun = EnduranceRun.ENDLESS
    shift: Shift = Shift.LAZY
    kv_type: KVType = KVType.F16
    text: str | None = None
    n_threads: int | None = None
    output: str = "md"

    def command(self, path: str) -> Endure:
        """The engine's command for the model file at `path`."""
        return Endure(
            path=path,
            n_ctx=self.n_ctx,
            n_tokens=self.n_tokens,
            n_sinks=self.n_sinks,
            run=self.run,
            shift=self.shift,
            kv_type=self.kv_type,
            text_path=self.text,
            n_threads=self.n_threads,
        )


def add_endure(endure: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Add the arguments to the subcommand's parser; `positive` reads a number of at least 1."""
    default = EndureOptions()
    add = endure.add_argument
    add("model", nargs="?", metavar="MODEL", help="a GGUF file; else the last one or the starter")
    add("--ctx", type=int, default=default.n_ctx, metavar="W", help="sinks and window (default 1024)")
    add("--tokens", type=positive, default=default.n_tokens, metavar="N", help="to read (default 20000)")
    add("--sinks", type=int, default=default.n_sinks, metavar="N", help="tokens that stay (default 4)")
    add("--policy", choices=[run.value for run in EnduranceRun], default=default.run.value)
    add("--shift", choices=[shift.value for shift in Shift], default=default.shift.value)
    add("--kv-type", type=kv_type, default=default.kv_type, metavar="NAME", help=", ".join(KVType))
    add("--text", metavar="FILE", help="a text in UTF-8")
    add("--threads", type=positive, metavar="N", help="CPU threads")
    add("-o", "--output", choices=list(FORMATS), default=default.output, help="form (default md)")


def endure_options(arguments: argparse.Namespace) -> EndureOptions:
    """The options of `weir endure`."""
    return EndureOptions(
        model=arguments.model,
        n_ctx=arguments.ctx,
        n_tokens=arguments.tokens,
        n_sinks=arguments.sinks,
        run=EnduranceRun(arguments.policy),
        shift=Shift(arguments.shift),
        kv_type=arguments.kv_type,
        text=arguments.text,
        n_threads=arguments.threads,
        output=arguments.output,
    )
