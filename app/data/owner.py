"""Which process is writing a reply, and whether that process still runs.

A process is known by its id together with its start time, because the system hands ids out again.
Knows nothing about chats.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil

# The start time is computed from the clock at boot, which is known to a second only.
_CLOCK_TOLERANCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Owner:
    """A process: its id, and its start in Unix seconds."""

    pid: int
    started: float


def this_process() -> Owner:
    """The process that calls."""
    process = psutil.Process(os.getpid())
    return Owner(process.pid, process.create_time())


def is_running(owner: Owner) -> bool:
    """Whether `owner` still runs; a process that was killed but not yet cleared away does not."""
    try:
        process = psutil.Process(owner.pid)
        same = abs(process.create_time() - owner.started) <= _CLOCK_TOLERANCE_S
        return same and process.status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.AccessDenied:
        return True  # it exists: leave its reply alone
    except (psutil.Error, ValueError, OverflowError):
        return False
