"""Small files of the system (/sys, /proc) and of Weir's measurements: read within a bound, written whole.

A path goes in, text or JSON comes out, None for what is missing, unreadable or too large. Knows nothing
about what the files mean.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

_MOST_BYTES = 2**20
_MOST_CPUS = 2**14


def read_text(path: Path) -> str | None:
    """The file's text without the white space around it."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError):
        return None
    return None if len(content) > _MOST_BYTES else content.decode("utf-8", "replace").strip()


def read_whole(path: Path) -> int | None:
    """The whole number of 0 or more that the file consists of."""
    return whole_number(read_text(path) or "")


def whole_number(text: str) -> int | None:
    """`text` as a number of 0 or more; what has more than 20 digits is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None


def read_cpu_list(path: Path) -> frozenset[int]:
    """The numbers in a file like "0-3,8"; empty if it is missing or says something else."""
    cpus: set[int] = set()
    for part in (read_text(path) or "").split(","):
        first, _, last = part.partition("-")
        low, high = whole_number(first), whole_number(last or first)
        if low is not None and high is not None and high < _MOST_CPUS:
            cpus.update(range(low, high + 1))
    return frozenset(cpus)


def read_json(path: Path) -> object:
    """The value in a JSON file; None if there is none."""
    try:
        value: object = json.loads(read_text(path) or "null")
    except (ValueError, RecursionError):
        return None
    return value


def write_json(path: Path, value: object) -> None:
    """Replace the file in one step. Where that fails nothing happens: a measurement can be taken again."""
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(value, file, allow_nan=False)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
