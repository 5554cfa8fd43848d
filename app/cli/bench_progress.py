"""How far a benchmark is: a bar on a terminal, with the time that is left; elsewhere nothing but sentences.

Events go in. Promises: a sentence never stands in the bar's line. Knows nothing about results.
"""

from __future__ import annotations

from typing import TextIO

from app.data.bench_names import encodable, undirected
from engine.protocol import BenchCase, BenchProgress, LoadProgress

_CELLS = 24


class BenchProgressBar:
    """Owns the last line of `err`, if that is a terminal."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._is_terminal = err.isatty()
        self._width = 0

    def show(self, event: BenchProgress | LoadProgress) -> None:
        """Show it in place of what was there."""
        if not self._is_terminal:
            return
        if isinstance(event, LoadProgress):
            self._write(f"loading the model: {event.fraction:.0%}")
        else:
            self._write(progress_line(event))

    def note(self, sentence: str) -> None:
        """Write a sentence on a line of its own."""
        self.clear()
        print(f"weir: {undirected(encodable(sentence))}", file=self._err, flush=True)

    def clear(self) -> None:
        """Take the bar away."""
        if self._width:
            self._err.write("\r" + " " * self._width + "\r")
            self._err.flush()
            self._width = 0

    def _write(self, line: str) -> None:
        self.clear()
        self._err.write(line)
        self._err.flush()
        self._width = len(line)


def progress_line(event: BenchProgress) -> str:
    """One line: a bar, how many runs are done, what is measured, and the time that is left."""
    share = event.n_done / event.n_total if event.n_total else 1.0
    done = round(_CELLS * share)
    line = f"[{'#' * done}{'.' * (_CELLS - done)}] {event.n_done}/{event.n_total} {_name(event.case)}"
    return line if event.seconds_left is None else f"{line}, {_duration(event.seconds_left)} left"


def _name(case: BenchCase) -> str:
    parts = [f"{name}{n}" for name, n in (("pp", case.n_prompt), ("tg", case.n_gen)) if n]
    depth = f" @ d{case.n_depth}" if case.n_depth else ""
    return ("chat " if case.is_chat else "") + "+".join(parts) + depth


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
