"""A file that the user chose -> the text in it.

A path goes in, an `Attachment` comes out, or a KnownError with one clear sentence. Promises: time and
memory are bounded, nothing but ordinary files is opened, and the same bytes give the same text on every
machine, whatever its locale. It knows nothing about chats and tokens.
"""

from __future__ import annotations

import codecs
import os
import stat
import threading
from pathlib import Path

from app.data.attachment_text import clean_name
from app.data.message_text import clean_text
from app.data.pdf_text import pdf_text
from app.data.stored_message import Attachment
from engine.errors import KnownError

MAX_FILE_BYTES = 20 * 2**20
MAX_CHARACTERS = 5_000_000
"""The most text that is taken from one file: more than any context holds."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b")
_MOST_ACCENTED = 0.3
"""The largest share of bytes above 127 in a text of a Western language."""


def read(path: str, cancelled: threading.Event | None = None) -> Attachment:
    """The text in the file at `path`: plain text in any form, or that of a PDF.

    Takes up to half a minute, for a PDF; setting `cancelled` from another thread ends that at once.

    Raises KnownError when there is no text to be had; the sentence names the file and the reason.
    """
    name = clean_name(path)
    data = _bytes_of(path, name)
    if data.startswith(b"%PDF-") or path.lower().endswith(".pdf"):
        text = pdf_text(data, name, MAX_CHARACTERS, cancelled)
    else:
        text = _decoded(data, name)
    text = clean_text(text).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise KnownError(f"{name} was not attached: there is no text in it.")
    if len(text) > MAX_CHARACTERS:
        raise too_much_text(name, MAX_CHARACTERS)
    return Attachment(name, text)


def too_much_text(name: str, most: int) -> KnownError:
    """The refusal of a text that is too long for any context."""
    return KnownError(f"{name} was not attached: it has more than {most:,} characters. Attach a part of it.")


def _bytes_of(path: str, name: str) -> bytes:
    try:
        _check_kind(Path(path).stat(), name)  # opening a device may already do something
        # Not waiting: what stood there as a file may have become a pipe meanwhile.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            _check_kind(os.fstat(file.fileno()), name)
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise KnownError(f"{name} was not attached: it is not there any more.") from None
    except PermissionError:
        raise KnownError(f"{name} was not attached: you have no permission to read it.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise KnownError(f"{name} was not attached: it cannot be read ({reason}).") from error
    if len(data) > MAX_FILE_BYTES:
        raise KnownError(
            f"{name} was not attached: it is larger than {MAX_FILE_BYTES // 2**20} MiB. Attach a part of it."
        )
    return data


def _check_kind(status: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise KnownError(f"{name} was not attached: it is a folder. Attach the files in it.")
    if not stat.S_ISREG(status.st_mode):
        raise KnownError(f"{name} was not attached: it is a device or a pipe, not a file.")


def _decoded(data: bytes, name: str) -> str:
    marked = (encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark))
    encoding = next(marked, None) or ("utf-8" if _is_utf8(data) or not _looks_western(data) else "cp1252")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise KnownError(
            f"{name} was not attached: it is not a text file. Text, code, Markdown, CSV, JSON and PDF can be "
            "attached; a text in another encoding can after it was saved as UTF-8."
        )
    return text


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _looks_western(data: bytes) -> bool:
    """Whether `data` may be text in Windows' and Latin 1's way of writing accents.

    Any bytes can be decoded so; what is Cyrillic or Chinese would come out as nonsense.
    """
    n_accented = len(data.translate(None, delete=bytes(range(128))))
    controls = any(byte < 32 and byte not in _TEXT_CONTROLS for byte in set(data))
    return not controls and n_accented <= _MOST_ACCENTED * len(data)
