"""What `weir quantize` shows: before and after, a bar with the time that is left, or JSON lines for programs.

Plans and events go in. Out: the path (or JSON lines, strict and in ASCII) on standard output, everything else
on standard error. Promises: a sentence never stands in the bar's line. Knows nothing about quantizing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

from engine.memory.memory_plan import PROCESS_BYTES, MemoryPlan
from engine.memory.words import size
from engine.protocol import QuantizeFinished, QuantizeProgress

_CELLS = 24


@dataclass(frozen=True, slots=True)
class Prospect:
    """A model before or after: `plan` None where the machine could not be asked."""

    quantization: str
    file_bytes: int
    plan: MemoryPlan | None = None


class QuantizeOutput:
    """Shows one run."""

    def __init__(self, *, as_json: bool, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._as_json = as_json
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._is_terminal = self._err.isatty() and not as_json
        self._width = 0

    def show_prospects(self, before: Prospect, after: Prospect) -> None:
        """What will become of the model."""
        if self._as_json:
            self._print_json({"before": _json_prospect(before), "after": _json_prospect(after)})
            return
        rows = list(_rows(before, after))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for row in rows:
            line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
            print(line.rstrip(), file=self._err, flush=True)

    def show(self, event: QuantizeProgress) -> None:
        """How far it is."""
        if self._as_json:
            self._print_json(
                {
                    "n_done": event.n_done,
                    "n_total": event.n_total,
                    "fraction": event.fraction,
                    "seconds_left": event.seconds_left,
                }
            )
        elif self._is_terminal:
            self.clear()
            line = progress_line(event)
            self._err.write(line)
            self._err.flush()
            self._width = len(line)

    def show_finished(self, event: QuantizeFinished) -> None:
        """All is done."""
        self.clear()
        if self._as_json:
            self._print_json(
                {
                    "path": event.path,
                    "size": event.size_bytes,
                    "seconds": event.seconds,
                    "quantization": event.quantization,
                    "tensor_bytes": dict(event.tensor_bytes),
                    "n_fallback": event.n_fallback,
                }
            )
            return
        mix = ", ".join(f"{name} {size(n_bytes)}" for name, n_bytes in event.tensor_bytes)
        self.note(f"{size(event.size_bytes)} in {_duration(event.seconds)}: {mix}.")
        if event.n_fallback:
            self.note(
                f"Tensors that got a larger type, since their rows do not fit the blocks of this kind: "
                f"{event.n_fallback}."
            )
        print(event.path, file=self._out, flush=True)

    def show_end(self, reason: str) -> None:
        """It ended without a model."""
        self.note(reason)
        if self._as_json:
            self._print_json({"error": reason})

    def note(self, sentence: str) -> None:
        """Write a sentence on a line of its own."""
        self.clear()
        print(f"weir: {sentence}", file=self._err, flush=True)

    def clear(self) -> None:
        """Take the bar away."""
        if self._width:
            self._err.write("\r" + " " * self._width + "\r")
            self._err.flush()
            self._width = 0

    def _print_json(self, fields: dict[str, object]) -> None:
        print(json.dumps(fields, allow_nan=False), file=self._out, flush=True)


def progress_line(event: QuantizeProgress) -> str:
    """One line: a bar, how many tensors are done, and the time that is left."""
    done = int(_CELLS * event.fraction)
    bar = f"[{'#' * done}{'.' * (_CELLS - done)}] {int(event.fraction * 100):3d} %"
    line = f"{bar}  {event.n_done}/{event.n_total} tensors"
    return line if event.seconds_left is None else f"{line}, {_duration(event.seconds_left)} left"


def _rows(before: Prospect, after: Prospect) -> Iterator[tuple[str, str, str]]:
    yield "", "before", "after"
    yield "Quantization", before.quantization, after.quantization
    yield "File", size(before.file_bytes), f"about {size(after.file_bytes)}"
    if before.plan and after.plan:
        yield "Memory", _memory(before.plan), _memory(after.plan)
        if before.plan.predicted_tps and after.plan.predicted_tps:
            yield "Speed", _speed(before.plan.predicted_tps), _speed(after.plan.predicted_tps)
        yield "Fits", _fits(before.plan), _fits(after.plan)


def _memory(plan: MemoryPlan) -> str:
    return f"{size(plan.total_bytes + PROCESS_BYTES)} at {plan.n_cells:,} tokens"


def _speed(tps: float) -> str:
    return f"about {tps:,.1f} tokens/s" if tps < 10 else f"about {tps:,.0f} tokens/s"


def _fits(plan: MemoryPlan) -> str:
    return str(plan.verdict).replace("_", " ")


def _json_prospect(prospect: Prospect) -> dict[str, object]:
    plan = prospect.plan
    return {
        "quantization": prospect.quantization,
        "file_bytes": prospect.file_bytes,
        "memory_bytes": plan and plan.total_bytes + PROCESS_BYTES,
        "predicted_tps": plan and plan.predicted_tps,
        "verdict": plan and str(plan.verdict),
    }


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
