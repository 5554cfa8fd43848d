"""Whether some program has a model loaded: a path goes in, yes or no comes out.

Linux tells which files the user's processes have mapped, which is how a model is loaded. Elsewhere the answer
is no: Windows itself deletes no file that is in use. Which program it is, and why, is not known here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROCESSES = Path("/proc")


def is_mapped(path: Path) -> bool:
    """Whether a process of this user has the file at `path` mapped into its memory."""
    # A line ends with the path, of which only newlines are written differently.
    real = os.path.realpath(path).replace("\n", "\\012")
    end = f" {real}\n"
    return any(line.endswith(end) for line in _lines())


def _lines() -> Iterator[str]:
    for maps in _PROCESSES.glob("[0-9]*/maps"):
        with suppress(OSError), maps.open(encoding="utf-8", errors="surrogateescape") as lines:
            yield from lines
