"""A file opened to be appended to, which is a file of its own: no link to another one, no pipe, no device.

What lies at the name instead is taken away first; what a link points to is never touched.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none; there the look before has to do


def open_to_append(path: Path) -> io.FileIO:
    """The file at `path`, made if it is not there. Raises OSError."""
    if os.path.lexists(path) and not is_plain(path):
        path.unlink()
    descriptor = os.open(path, _FLAGS | _NO_LINK, 0o666)
    return io.FileIO(descriptor, "ab")


def is_plain(path: Path) -> bool:
    """Whether a file of its own is at `path`. Raises OSError if nothing is."""
    return stat.S_ISREG(path.lstat().st_mode)
