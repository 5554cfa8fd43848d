"""What is asked of the typesetting process, what it answers, and both as one line of JSON.

A `FormulaTask` becomes a `FormulaDrawing`, a `HighlightTask` becomes `HighlightedCode`; what cannot be
set is None. Only these lines cross the pipe. Knows nothing about Qt, processes, or how anything is set.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FormulaTask:
    """LaTeX without delimiters; `display`: set apart, else in a line. `size` in pixels, `colour` #rrggbb."""

    latex: str
    display: bool
    size: float
    colour: str


@dataclass(frozen=True, slots=True)
class FormulaDrawing:
    """An SVG image, how wide it is, and how far it reaches above and below the baseline, in pixels."""

    svg: str
    width: float
    ascent: float
    descent: float


@dataclass(frozen=True, slots=True)
class HighlightTask:
    """Code, and the name of its language as it stands behind the fence."""

    code: str
    language: str


@dataclass(frozen=True, slots=True)
class HighlightedCode:
    """For each line of the code, the stretches that have a colour: (start, length, kind), in order."""

    lines: tuple[tuple[tuple[int, int, str], ...], ...]


Task = FormulaTask | HighlightTask
Result = FormulaDrawing | HighlightedCode | None


def encode_task(task: Task) -> bytes:
    """`task` as a line."""
    return json.dumps(asdict(task)).encode() + b"\n"


def decode_task(line: bytes) -> Task:
    """The task in a line. Raises ValueError or TypeError for anything else."""
    fields = json.loads(line)
    return FormulaTask(**fields) if "latex" in fields else HighlightTask(**fields)


def encode_result(result: Result) -> bytes:
    """`result` as a line."""
    return json.dumps(None if result is None else asdict(result)).encode() + b"\n"


def decode_result(line: bytes) -> Result:
    """The result in a line; None for anything that is none."""
    try:
        fields: Any = json.loads(line)
        if fields and "svg" in fields:
            return FormulaDrawing(**fields)
        if fields:
            return HighlightedCode(tuple(tuple(tuple(span) for span in row) for row in fields["lines"]))
    except (ValueError, TypeError, KeyError):
        pass
    return None
