"""A file that a process is still writing, beside the one that it will become.

Its name says whose it is, so that what a process has left that was killed can be told from what another one
is writing now. Nothing ends in .gguf before it is whole. Knows nothing about what is written.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import psutil

_NAME = re.compile(r".+\.(?P<pid>\d{1,10})\.part", re.DOTALL | re.ASCII)
_CLOCK_S = 2.0  # what the times of files and processes may differ by


def unfinished_path(target: Path) -> Path:
    """Where this process writes what will be `target`."""
    return target.with_name(f".{target.name}.{os.getpid()}.part")


def sweep(folder: Path) -> None:
    """Delete what processes that are gone have left unfinished in `folder`, which need not be there."""
    with contextlib.suppress(OSError):
        for path in list(folder.glob(".*.part")):
            name = _NAME.fullmatch(path.name)
            if name and not _is_written(path, int(name["pid"])):
                path.unlink(missing_ok=True)


def _is_written(path: Path, pid: int) -> bool:
    """Whether the process that began the file is there; a younger one only has its number."""
    try:
        return psutil.Process(pid).create_time() <= path.stat().st_mtime + _CLOCK_S
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False
