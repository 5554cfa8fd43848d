"""Exported text on its way into a file: a name that every system accepts, and a write that is whole.

Titles and texts go in; file names and files come out. Promises that after a failure the file at the path
is the former one, or none. Knows nothing about chats.
"""

from __future__ import annotations

import contextlib
import os
import unicodedata
import uuid
from pathlib import Path

from app.data.message_text import clean_text, joins_the_one_before, one_line
from engine.errors import KnownError

_MOST_CHARACTERS = 80
_MOST_BYTES = 240  # of the 255 that file systems allow

_FORBIDDEN = frozenset('<>:"/\\|?*')  # on Windows; on others only the slash
# Windows takes these for devices, with any ending: https://learn.microsoft.com/windows/win32/fileio/naming-a-file
_DEVICES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"]
    + [f"{port}{digit}" for port in ("COM", "LPT") for digit in "0123456789¹²³"]
)
_JOINERS = "\u200c\u200d"  # inside words of many scripts, and inside emoji


def file_name_for(title: str, suffix: str) -> str:
    """A name for a file about `title`, ending with `suffix` (".md"), with at most 80 characters."""
    name = unicodedata.normalize("NFC", one_line(clean_text(title)))
    name = one_line("".join(" " if _is_unsafe(character) else character for character in name))
    name = _shortened(name.strip(". "), suffix).strip(". ")
    if not name:
        name = "chat"
    if name.partition(".")[0].strip().upper() in _DEVICES:
        name = f"chat {name}"
    return name + suffix


def write_text_atomically(path: Path, text: str) -> None:
    """Write `text` as UTF-8 to `path`, replacing what is there; on the disk when this returns.

    Raises KnownError when that fails.
    """
    try:
        target = path.resolve()  # a link stays a link
        temporary = target.with_name(f".weir-{uuid.uuid4().hex}")
        try:
            with temporary.open("xb") as file:
                file.write(clean_text(text).encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:  # ValueError: a name that no system allows
        reason = getattr(error, "strerror", None) or error
        raise KnownError(
            f"{path.name} could not be written ({reason}). No file was changed: choose another folder or "
            "name, or free some space, then try again."
        ) from error


def _is_unsafe(character: str) -> bool:
    # Format characters include those that turn the direction of text, which hide a name's true ending.
    return character in _FORBIDDEN or (
        unicodedata.category(character) in {"Cc", "Cf", "Cn", "Co", "Cs"} and character not in _JOINERS
    )


def _shortened(name: str, suffix: str) -> str:
    length = min(len(name), _MOST_CHARACTERS - len("chat ") - len(suffix))
    while length > 0 and len(name[:length].encode()) > _MOST_BYTES - len(suffix.encode()):
        length -= 1
    while 0 < length < len(name) and joins_the_one_before(name, length):
        length -= 1
    return name[:length]
