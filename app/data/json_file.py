"""A JSON object in a file that is replaced in one step.

Objects go in and out. Promises that after a crash or a loss of power the file is the old or the new one,
whole. Knows nothing about what the objects mean.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def read_object(path: Path) -> Json:
    """The object in the file. Raises OSError, and ValueError or RecursionError if there is none in it."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(stored, dict):
        raise ValueError(f"{path.name} does not hold an object")
    return stored


def write_object(path: Path, stored: Json, indent: int | None = 2) -> None:
    """Store the object in place of what the file held. Raises OSError."""
    # ASCII escapes keep paths whose bytes are no valid text.
    text = json.dumps(stored, indent=indent, allow_nan=False, ensure_ascii=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
