"""`weir endure`: a long text through a model, the figures on standard output.

In: `EndureOptions`. Out: the report in the form that was asked for, progress on standard error, and
an exit status: 0; 1 if the model or the engine failed; 2 for values that make no sense; 130 after
Ctrl+C, with the report of what was measured until then. A second Ctrl+C ends at once. It knows
nothing about how the run is done.
"""

from __future__ import annotations

import contextlib
import io
import queue
import sys
import time
from typing import TextIO

from app.cli.chat import choose_model
from app.cli.chat_session import EngineFactory
from app.cli.endure_arguments import EndureOptions
from app.cli.engine_events import next_event, real_engine
from app.cli.interrupts import INTERRUPTED, first_interrupt_calls
from app.cli.last_words import cause_in_words
from app.data.endurance_export import FORMATS
from engine.errors import EngineGone, ModelFileError
from engine.protocol import (
    Cancel,
    EnduranceProgress,
    EnduranceReport,
    EngineDied,
    ErrorCode,
    Event,
    Failed,
    LoadProgress,
)


def run_endure(options: EndureOptions, make_engine: EngineFactory | None = None) -> int:
    """Carry out one run; returns the exit status. `make_engine` None takes the real engine."""
    progress = Progress(options.n_tokens, sys.stderr or io.StringIO())
    try:
        path = choose_model(options.model, progress.note)
        return _run(options, path, progress, make_engine or real_engine())
    except (ModelFileError, EngineGone) as error:
        progress.note(str(error))
        return 1
    except KeyboardInterrupt:
        progress.clear()
        return INTERRUPTED


def _run(options: EndureOptions, path: str, progress: Progress, make_engine: EngineFactory) -> int:
    events: queue.SimpleQueue[Event | Cancel] = queue.SimpleQueue()
    interrupted = False
    with (
        contextlib.closing(make_engine(events.put)) as engine,
        first_interrupt_calls(lambda: events.put(Cancel(0))),
    ):
        engine.send(options.command(path))
        while True:
            match event := next_event(events):
                case Cancel():
                    interrupted = True
                    with contextlib.suppress(EngineGone):  # then its end is on the way
                        engine.send(event)
                case EnduranceReport():
                    progress.tell_if_stopped(event.n_tokens)
                    if event.n_tokens:
                        print(FORMATS[options.output](event), end="", file=sys.stdout)
                    return INTERRUPTED if interrupted else 0
                case Failed():
                    progress.note(event.error.message)
                    return 2 if event.error.code is ErrorCode.BAD_REQUEST else 1
                case EngineDied():
                    cause = cause_in_words(event)
                    progress.note(f"The engine died ({cause}), and nothing was kept. Try another model file.")
                    return 1
                case _:
                    progress.show(event)


class Progress:
    """How far the run is: a line that is overwritten on a terminal, a line every few seconds elsewhere."""

    def __init__(self, n_asked: int, err: TextIO, seconds_between_lines: float = 5.0) -> None:
        self._n_asked = self._n_total = n_asked
        self._err = err
        self._is_terminal = err.isatty()
        self._pause = 0.0 if self._is_terminal else seconds_between_lines
        self._next_at = time.monotonic() + self._pause
        self._width = 0
        self._told_short = False

    def show(self, event: Event) -> None:
        """Show the event, if it is time to."""
        if isinstance(event, LoadProgress) and self._is_terminal:
            self._write(f"loading the model: {event.fraction:.0%}")
        elif isinstance(event, EnduranceProgress):
            self._n_total = event.n_total
            self._tell_if_short(event.n_total)
            if event.n_done and time.monotonic() >= self._next_at:
                self._next_at = time.monotonic() + self._pause
                self._write(_line(event))

    def note(self, sentence: str) -> None:
        """Write a sentence on a line of its own."""
        self.clear()
        print(f"weir: {sentence}", file=self._err, flush=True)

    def clear(self) -> None:
        """Take the line that is overwritten away."""
        if self._width:
            self._err.write("\r" + " " * self._width + "\r")
            self._err.flush()
            self._width = 0

    def tell_if_stopped(self, n_done: int) -> None:
        """The run has ended after `n_done` tokens: say so if that is not all of them."""
        self.clear()
        if n_done < self._n_total:
            figures = "the figures are those of what was read" if n_done else "there is nothing to report"
            self.note(f"stopped after {n_done:,} of {self._n_total:,} tokens; {figures}.")

    def _tell_if_short(self, n_total: int) -> None:
        if n_total < self._n_asked and not self._told_short:
            self._told_short = True
            self.note(f"the text has only {n_total:,} of the {self._n_asked:,} tokens; all of it is read.")

    def _write(self, line: str) -> None:
        if not self._is_terminal:
            print(line, file=self._err, flush=True)
            return
        self.clear()
        self._err.write(line)
        self._err.flush()
        self._width = len(line)


def _line(event: EnduranceProgress) -> str:
    parts = [f"{event.n_done:,} of {event.n_total:,} tokens"]
    if event.tps is not None:
        parts.append(f"{event.tps:.0f} tokens/s")
    if event.perplexity:
        parts.append(f"perplexity {event.perplexity[-1]:.2f}")
    parts.append(f"{event.rss_bytes / 2**20:,.0f} MiB")
    return ", ".join(parts)
