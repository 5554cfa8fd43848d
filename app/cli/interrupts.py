"""Ctrl+C in the terminal: the first one stops what runs, the second one ends the program.

Knows nothing about what runs.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
"""The exit status of a program that Ctrl+C ended."""


@contextlib.contextmanager
def first_interrupt_calls(cancel: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """While it holds, the first Ctrl+C calls `cancel`, and another one raises KeyboardInterrupt.

    Yields a function that tells whether there was one.
    """
    interrupts: list[int] = []

    def first(number: int, _frame: FrameType | None) -> None:
        interrupts.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cancel()

    before = signal.signal(signal.SIGINT, first)
    try:
        yield lambda: bool(interrupts)
    finally:
        signal.signal(signal.SIGINT, before)
