"""An engine for a command of the terminal, and its events one by one.

Imports the engine's client only when one is made: help and wrong words need none.
"""

from __future__ import annotations

import contextlib
import queue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from app.cli.chat_session import EngineFactory

# A wait without a limit cannot be interrupted by Ctrl+C on Windows.
_WAIT_S = 0.1

_Event = TypeVar("_Event")


def real_engine() -> EngineFactory:
    """What makes a worker process."""
    from engine.client import EngineClient

    return EngineClient


def next_event(events: queue.SimpleQueue[_Event]) -> _Event:
    """Wait for the next event."""
    while True:
        with contextlib.suppress(queue.Empty):
            return events.get(timeout=_WAIT_S)
