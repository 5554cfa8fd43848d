"""The command `weir`: the window, or a command of the terminal.

In: the command line. Out: an exit status. Nothing of Weir may be imported at the top: the engine's worker,
and each process that renders or measures, imports this module again when it starts.
"""

from __future__ import annotations

import errno
import io
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from app.cli.arguments import ChatOptions
    from app.cli.bench_arguments import BenchOptions
    from app.cli.endure_arguments import EndureOptions
    from app.cli.plan_arguments import PlanOptions

_OUTPUT_ERRORS = (errno.ENOSPC, errno.EIO, errno.EFBIG)


def main(argv: Sequence[str] | None = None) -> int:
    """Run Weir with `argv` (without the program's name; None takes the process's own)."""
    multiprocessing.freeze_support()
    from app.cli.arguments import build_parser, chat_options
    from app.cli.bench_arguments import bench_options
    from app.cli.endure_arguments import endure_options
    from app.cli.plan_arguments import plan_options
    from engine.errors import BadRequest

    if sys.stderr is None:  # closed by the caller; print would fall back to standard output
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    parser = build_parser()
    arguments = parser.parse_args(argv)
    command: Callable[[], int] | None = None
    try:
        match arguments.command:
            case "doctor":
                command = partial(_doctor, arguments.as_json, arguments.bandwidth)
            case "inspect":
                command = partial(_inspect, arguments.file, arguments.as_json)
            case "plan":
                command = partial(_plan, plan_options(arguments))
            case "search" | "pull" | "models" | "rm" | "quantize":
                command = partial(_library, arguments)
            case "chat":
                command = partial(_chat, chat_options(arguments))
            case "bench":
                command = partial(_bench, bench_options(arguments))
            case "endure":
                command = partial(_endure, endure_options(arguments))
    except BadRequest as error:
        parser.exit(2, f"weir {arguments.command}: {error}\n")
    return _in_terminal(command) if command else _open_window()


def _open_window() -> int:
    """Open the window, or where there is none to open, say so and chat in the terminal."""
    from app.display import display_problem

    problem = display_problem()
    if problem is None:
        return _run_window()

    from app.cli.arguments import ChatOptions
    from engine.models.starter import starter_model_path

    print(f"weir: No window can be opened, so the chat runs in this terminal. {problem}", file=sys.stderr)
    starter = starter_model_path()
    return _in_terminal(lambda: _chat(ChatOptions(model=None if starter is None else str(starter))))


def _run_window() -> int:
    from engine.client import HeadStart

    head_start = HeadStart()  # its process needs longest: it imports llama.cpp while this one imports Qt
    try:
        from app.qt_features import skip_feature_search

        skip_feature_search()
        from app.window import run_window

        return run_window([], head_start)
    finally:
        head_start.close()


def _chat(options: ChatOptions) -> int:
    from app.cli.chat import run_chat

    return run_chat(options)


def _endure(options: EndureOptions) -> int:
    from app.cli.endure import run_endure

    return run_endure(options)


def _bench(options: BenchOptions) -> int:
    from app.cli.bench import run_bench

    return run_bench(options)


def _inspect(path: str, as_json: bool) -> int:
    from app.cli.inspect import run_inspect

    return run_inspect(path, as_json)


def _plan(options: PlanOptions) -> int:
    from app.cli.plan import run_plan

    return run_plan(options)


def _doctor(as_json: bool, measures: bool) -> int:
    from app.cli.doctor import run_doctor

    return run_doctor(as_json, measures)


def _library(arguments: argparse.Namespace) -> int:
    """What finds, fetches, makes, lists and deletes models."""
    if arguments.command == "quantize":
        from app.cli.quantize import run_quantize
        from app.cli.quantize_arguments import quantize_options

        return run_quantize(quantize_options(arguments))
    if arguments.command == "search":
        from app.cli.search import run_search
        from app.cli.search_arguments import search_options

        return run_search(search_options(arguments))
    if arguments.command == "pull":
        from app.cli.pull import run_pull
        from app.cli.pull_arguments import pull_options

        return run_pull(pull_options(arguments))
    from app.cli.models import run_models, run_rm

    if arguments.command == "models":
        return run_models(arguments.folders, arguments.as_json)
    return run_rm(arguments.name, arguments.as_json, arguments.is_sure)


def _in_terminal(command: Callable[[], int]) -> int:
    """Run a command whose text no locale can make fail, and whose reader may leave (`| head -1`)."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    try:
        status = command()
        if sys.stdout is not None:  # the caller closed it
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return 0
    except KeyboardInterrupt:
        from app.cli.interrupts import INTERRUPTED

        return INTERRUPTED
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS:
            raise
        _drop_output()
        print(f"weir: The output could not be written: {error.strerror}.", file=sys.stderr)
        return 1
    return status


def _drop_output() -> None:
    """Python writes what is left at exit, and would complain about the output again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
