"""Exact sizes of a load before it is done, from a throwaway process.

A path and a `LoadShape` go in, `ExactSizes` come out, or None: the process may die of a broken file or hang,
and neither takes the caller down. Costs about half a second, and some hundred megabytes for that long. Knows
nothing about plans.
"""

from __future__ import annotations

import multiprocessing
import os
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

from engine.errors import WeirError
from engine.memory.memory_plan import ExactSizes, LoadShape

_SPAWN = multiprocessing.get_context("spawn")
# Some memory is taken for each cell even so, 48 bytes: a context of 2,147,483,647 would take 100 GB.
_MAX_N_CTX = 2**22
_SECONDS_TO_END = 1.0
# SIGABRT, SIGSEGV, SIGBUS, SIGFPE and SIGILL; on Windows an access violation, a fail-fast and abort().
_CRASHES = frozenset({-6, -11, -7, -10, -8, -4, 0xC0000005, 0xC0000409, 3})


@dataclass(frozen=True, slots=True)
class Refused:
    """llama.cpp does not take the file, or dies of it; `reason` is a sentence."""

    reason: str


def dry_run(path: Path, shape: LoadShape, timeout_s: float = 20.0) -> ExactSizes | None:
    """What loading the model at `path` in this shape would allocate; None if that cannot be found out."""
    found = try_out(path, shape, timeout_s)
    return found if isinstance(found, ExactSizes) else None


def try_out(path: Path, shape: LoadShape, timeout_s: float = 20.0) -> ExactSizes | Refused | None:
    """As `dry_run`, with the reason where llama.cpp refuses the file."""
    if shape.n_ctx > _MAX_N_CTX:
        return None
    ours, theirs = _SPAWN.Pipe(duplex=False)
    arguments = (theirs, str(path), shape)
    process = _SPAWN.Process(target=_measure, args=arguments, name="weir-dry-run", daemon=True)
    process.start()
    theirs.close()
    found: ExactSizes | Refused | None = None
    try:
        with suppress(OSError):
            found = ours.recv() if ours.poll(timeout_s) else None
    except EOFError:
        found = _crashed(process, path)
    finally:
        process.kill()
        process.join()
        ours.close()
    return found


def _crashed(process: SpawnProcess, path: Path) -> Refused | None:
    """It ended without an answer. Of a broken file llama.cpp aborts; what else ended it says nothing."""
    process.join(_SECONDS_TO_END)
    if process.exitcode not in _CRASHES:
        return None
    advice = "It is not loaded: download it again, or take another file of this model."
    return Refused(f"llama.cpp crashed on {path.name}. {advice}")


def _measure(connection: Connection, path: str, shape: LoadShape) -> None:
    """Entry of the throwaway process."""
    # What an abort prints is nobody's business here.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    from engine.llama.dry_run import measure

    try:
        connection.send(measure(Path(path), shape))
    except WeirError as error:
        connection.send(Refused(str(error)))
    os._exit(0)  # freeing what was never allocated in earnest is where llama.cpp may still stumble
