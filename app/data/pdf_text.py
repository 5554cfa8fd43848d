"""The text of a PDF, read in a process of its own.

The bytes of a file go in, its text comes out, or a KnownError. A PDF can be made so that reading it never
ends or eats all memory, and only a process can be stopped from that: the child has 20 s and, where the
platform can limit it, 1 GiB. Only bytes cross the pipe. The child imports neither Qt nor llama.cpp.

Memory is limited through RLIMIT_AS: Windows has none, there only the time is bounded.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

from engine.errors import KnownError

LIMIT_S = 20.0
START_LIMIT_S = 10.0
MEMORY_LIMIT_BYTES = 2**30
_LOOK_EVERY_S = 0.1
_READY = b"ready"
_REASONS = {
    "encrypted": "it is locked with a password. Save a copy without one and attach that.",
    "scanned": "it has no text, only pictures of pages.",
    "broken": "it is broken, or not a PDF.",
    "memory": "reading it takes too much memory.",
    "long": "it has more text than can be attached. Attach a part of it.",
    "slow": f"reading it takes longer than {LIMIT_S:.0f} seconds. Attach a part of it.",
    "cancelled": "it was removed.",
}


def pdf_text(data: bytes, name: str, max_characters: int, cancelled: threading.Event | None = None) -> str:
    """The text of all pages of the PDF in `data`, an empty line between two pages.

    Raises KnownError with a sentence about the file called `name`; also once `cancelled` is set.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, max_characters), name="weir-pdf", daemon=True)
    try:
        with theirs:
            process.start()
    except OSError as error:
        ours.close()
        raise KnownError(f"{name} was not attached: its reader could not be started ({error}).") from error
    try:
        outcome, _, text = _asked(ours, data, cancelled or threading.Event()).partition("\n")
    finally:
        ours.close()
        process.kill()
        process.join()
        process.close()
    if outcome != "text":
        raise KnownError(f"{name} was not attached: {_REASONS[outcome]}")
    return text


def _asked(connection: Connection, data: bytes, cancelled: threading.Event) -> str:
    """What the child answers: an outcome's name, and behind a line break the text."""
    try:
        if refusal := _waited(connection, START_LIMIT_S, cancelled):
            return refusal
        connection.recv_bytes(len(_READY))
        connection.send_bytes(data)
        return _waited(connection, LIMIT_S, cancelled) or connection.recv_bytes().decode("utf-8", "replace")
    except (OSError, EOFError):
        return "memory"  # the child is gone: nothing else ends it from outside


def _waited(connection: Connection, seconds: float, cancelled: threading.Event) -> str:
    """Wait for an answer; "", or why there is none."""
    until = time.monotonic() + seconds
    while not connection.poll(_LOOK_EVERY_S):
        if cancelled.is_set():
            return "cancelled"
        if time.monotonic() > until:
            return "slow"
    return ""


# --- the child ------------------------------------------------------------------------------------


def _serve(connection: Connection, max_characters: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable()  # pypdf tells of each fault that it mends
    _limit_memory()
    with Path(os.devnull).open("w") as nowhere:
        # A killed parent cannot kill us; this works even inside one endless operation in C.
        faulthandler.dump_traceback_later(START_LIMIT_S + 2 * LIMIT_S, exit=True, file=nowhere)
        connection.send_bytes(_READY)
        try:
            answer = _extracted(connection.recv_bytes(), max_characters)
        except (MemoryError, RecursionError):
            answer = "memory"
        except EOFError:
            return
        with contextlib.suppress(OSError):  # nobody waits any more
            connection.send_bytes(answer.encode("utf-8", "replace"))


def _extracted(data: bytes, max_characters: int) -> str:
    """An outcome's name, and behind a line break the text."""
    import io

    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError

    pages, length = [], 0
    try:
        for page in PdfReader(io.BytesIO(data)).pages:
            pages.append(page.extract_text().strip())
            length += len(pages[-1]) + 2
            if length > max_characters:
                return "long"
    except (FileNotDecryptedError, DependencyError):  # the latter: a cipher that is not there
        return "encrypted"
    except LimitReachedError:
        return "memory"
    except (MemoryError, RecursionError):
        raise
    except Exception:
        # A broken PDF makes pypdf raise anything, from KeyError to AttributeError.
        return "broken"
    text = "\n\n".join(filter(None, pages))
    return f"text\n{text}" if text else "scanned"


def _limit_memory() -> None:
    if sys.platform == "win32":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(ValueError, OSError):  # some systems do not accept it; the time is still bounded
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, hard))
