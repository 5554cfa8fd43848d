"""Run a long command with its output in a log file, and show meanwhile that it is alive.

In: a command. Out: nothing, or SetupError with the log's last lines and what they mean. What it
shows goes to stderr, so that standard output stays free for the chat that follows the set-up.
It does not know what the command is for.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.system_packages import install_command

_LINES_OF_ERROR = 12
_LAST_LINES = 8
_TAIL_BYTES = 64 * 1024
_NEWS_ON_TERMINAL_S = 1
_NEWS_IN_PIPE_S = 30
_BUILD_STEP = re.compile(r"^\s*\[\s*(\d+)(?:/(\d+)|%)\] ", re.MULTILINE)

_ERROR = re.compile(r"CMake Error|\berror:|^FAILED: |ERROR: ")

# What a line of the log means: a tool of the packages' table, or a sentence.
_CAUSES = (
    (
        re.compile(r"No CMAKE_C(XX)?_COMPILER could be found|command '?(gcc|g\+\+|cc|c\+\+)'? failed: No"),
        "C++ compiler",
    ),
    (
        re.compile(r"CUDA_ARCHITECTURES is set to \"native\", but no GPU was detected"),
        "No NVIDIA GPU was found; ACCEL=cpu needs none.",
    ),
    (
        re.compile(
            r"CUDA Toolkit not found|Failed to find nvcc|No CMAKE_CUDA_COMPILER|CUDA::\w+$", re.MULTILINE
        ),
        "CUDA toolkit",
    ),
    (re.compile(r"Could NOT find Vulkan|SPIRV-Headers|glslc: not found"), "Vulkan SDK"),
    (re.compile(r"No module named (ensurepip|venv|pip)"), "Python venv module"),
    (re.compile(r"No space left on device"), "The disk is full."),
    (
        re.compile(r"Killed signal terminated program|virtual memory exhausted|out of memory"),
        "The compiler ran out of memory; CMAKE_BUILD_PARALLEL_LEVEL=1 before the command needs less.",
    ),
    (
        re.compile(r"NewConnectionError|name resolution|ConnectTimeout|ReadTimeout|Could not fetch URL"),
        "The package index was not reached; check the network connection and run the command again.",
    ),
)


class SetupError(Exception):
    """The set-up cannot go on; `str(error)` says why and what to do."""


def run_logged(command: Sequence[str], what: str, log: Path, cwd: Path, env: Mapping[str, str]) -> None:
    """Run `command` in `cwd`, append its output to `log`, and call it `what` towards the user.

    Raises SetupError if it exits with another status than 0.
    """
    with log.open("ab") as sink:
        start = sink.tell()
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, cwd=cwd, env=env
        ) as process:
            _watch(process, what, log, start)
    if process.returncode != 0:
        raise SetupError(_failure(what, log, start))


def _watch(process: subprocess.Popen[bytes], what: str, log: Path, start: int) -> None:
    is_terminal = sys.stderr.isatty()
    began = time.monotonic()
    while True:
        try:
            process.wait(timeout=_NEWS_ON_TERMINAL_S if is_terminal else _NEWS_IN_PIPE_S)
        except subprocess.TimeoutExpired:
            minutes, seconds = divmod(int(time.monotonic() - began), 60)
            line = f"  {what}: {minutes}:{seconds:02}{_share_done(log, start)}"
            print(
                f"\r{line:<70}" if is_terminal else line,
                end="" if is_terminal else "\n",
                file=sys.stderr,
                flush=True,
            )
        else:
            break
    if is_terminal:
        print(f"\r{'':<70}", end="\r", file=sys.stderr, flush=True)


def _share_done(log: Path, start: int) -> str:
    """How far the compiler is, from the last "[12/300] " (Ninja) or "[ 4%] " (make) in the log."""
    steps = _BUILD_STEP.findall(_tail(log, start))
    if not steps:
        return ""
    done, total = steps[-1]
    return f", {int(done) * 100 // int(total or 100)} %"


def _tail(log: Path, start: int) -> str:
    with log.open("rb") as source:
        source.seek(max(start, source.seek(0, 2) - _TAIL_BYTES))
        return source.read().decode("utf-8", errors="replace")


def _failure(what: str, log: Path, start: int) -> str:
    text = _tail(log, start)
    shown = "\n".join(f"  | {line}" for line in telling_lines(text))
    causes = "".join(f"{cause}\n" for cause in explain(text))
    return f"{what} failed.\n{shown}\n{causes}The whole output is in {log}."


def telling_lines(text: str) -> list[str]:
    """The lines from the first error on, and the last ones; pip's own words at the end tell little."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    first_error = next((n for n, line in enumerate(lines) if _ERROR.search(line)), len(lines))
    end_of_error = min(first_error + _LINES_OF_ERROR, max(first_error, len(lines) - _LAST_LINES))
    return lines[first_error:end_of_error] + lines[-_LAST_LINES:]


def explain(text: str) -> list[str]:
    """What the log `text` says is missing, a sentence each."""
    causes = dict.fromkeys(cause for pattern, cause in _CAUSES if pattern.search(text))
    return [cause if cause.endswith(".") else missing_sentence([cause]) for cause in causes]


def missing_sentence(missing: Sequence[str]) -> str:
    """One sentence that names the `missing` tools and the command that installs them."""
    command = install_command(missing)
    advice = f"Install with: {command}" if command else "Please install it and run the command again."
    return f"Missing: {', '.join(missing)}. {advice}"
