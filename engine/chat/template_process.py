"""Templates are rendered in a process of their own, so that one that hangs can be killed.

A source and a chat go to the child, the rendered text comes back. A render takes at most 2 seconds
and, where the platform can limit it, 512 MiB. The child stays alive between renders; one that was
killed is started again by the next. It ends with its parent: an idle one sees the pipe close, a
busy one is ended by its own watchdog.

Only bytes cross the pipe, never pickles: a template that broke out of the sandbox could not run
code here. Memory is limited through RLIMIT_AS: tested on Linux; macOS accepts the call but need not
honour it (untested), and Windows has no such limit, so there only the time is bounded.

Nothing here knows what a chat format is. Not for use from two threads at once.
"""

from __future__ import annotations

import enum
import faulthandler
import json
import multiprocessing
import multiprocessing.util
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from engine.errors import TemplateError

RENDER_LIMIT_S = 2.0
START_LIMIT_S = 30.0
MEMORY_LIMIT_BYTES = 512 * 2**20
REPLY_LIMIT_BYTES = 128 * 2**20
_DETAIL_LIMIT_CHARACTERS = 300
_READY = b"ready"


class Outcome(enum.StrEnum):
    """How a render ended."""

    TEXT = "text"
    SYNTAX = "syntax"  # the source is no jinja template
    REFUSED = "refused"  # it raised, by its own will or by mistake
    FORBIDDEN = "forbidden"  # the sandbox stopped it
    MEMORY = "memory"  # it wanted more than the limit
    SLOW = "slow"  # it was killed after `RENDER_LIMIT_S`
    DIED = "died"  # its process ended, or could not be started


class RenderError(TemplateError):
    """A render gave no text.

    `outcome` is why, never TEXT; `detail` is one line of at most 300 characters in the template's or
    jinja's words, perhaps "".
    """

    def __init__(self, outcome: Outcome, detail: str = "") -> None:
        self.outcome = outcome
        self.detail = " ".join(detail[: 4 * _DETAIL_LIMIT_CHARACTERS].split())[:_DETAIL_LIMIT_CHARACTERS]
        super().__init__(f"The chat template gave no text ({outcome}). {self.detail}")


class TemplateProcess:
    """The child that renders, started by `begin` or when it is first needed. Call `close` when done."""

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None
        self._ready = False
        # multiprocessing joins its children when the interpreter exits, and the child waits for us:
        # a forgotten `close` would hang there. Its own finalizers run before that join.
        self._at_exit = multiprocessing.util.Finalize(None, self._kill, exitpriority=0)

    def begin(self) -> None:
        """Start the child and wait for nothing: the first `render` does, and tells what went wrong."""
        with suppress(OSError):
            self._spawn()

    def render(self, source: str, context: Mapping[str, Any]) -> str:
        """The template `source` rendered with `context`, which holds plain JSON values.

        Raises RenderError.
        """
        request = json.dumps([source, context], ensure_ascii=False).encode("utf-8", "surrogatepass")
        if self._process is None or not self._process.is_alive():
            self._start()
        if not self._ready:
            self._await_ready()
        outcome, text = self._exchange(request)
        if outcome is not Outcome.TEXT:
            raise RenderError(outcome, text)
        return text

    def close(self) -> None:
        """End the child and wait until it is gone; calling it again is harmless."""
        self._at_exit()

    def _start(self) -> None:
        try:
            self._spawn()
        except OSError as error:
            self._kill()
            raise RenderError(Outcome.DIED, f"its process could not be started: {error}") from error

    def _spawn(self) -> None:
        self._kill()
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # Said outright, because the default is the flag of the process that starts it.
        self._process = context.Process(target=_serve, args=(theirs,), name="weir-template", daemon=False)
        with theirs:
            self._process.start()

    def _await_ready(self) -> None:
        assert self._connection is not None
        try:
            if self._connection.poll(START_LIMIT_S) and self._connection.recv_bytes() == _READY:
                self._ready = True
                return
            problem = f"its process was not ready after {START_LIMIT_S:.0f} seconds"
        except (OSError, EOFError) as error:
            problem = f"its process could not be started: {error}"
        self._kill()
        raise RenderError(Outcome.DIED, problem)

    def _exchange(self, request: bytes) -> tuple[Outcome, str]:
        """Send `request`, return the reply; a child without one in time is killed."""
        assert self._connection is not None
        try:
            self._connection.send_bytes(request)
            if not self._connection.poll(RENDER_LIMIT_S):
                self._kill()
                return Outcome.SLOW, ""
            reply = self._connection.recv_bytes(REPLY_LIMIT_BYTES)
        except (OSError, EOFError):
            self._kill()
            return Outcome.DIED, "its process ended"
        outcome, _, text = reply.decode("utf-8", "replace").partition("\n")
        return Outcome(outcome), text

    def _kill(self) -> None:
        # The child keeps nothing that is worth a polite end.
        self._ready = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            if self._process.pid is not None:  # it was started
                self._process.kill()
                self._process.join()
            self._process.close()
            self._process = None


def _serve(connection: Connection) -> None:
    """The child: answer requests until the other end of the pipe is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from engine.chat.template_sandbox import render  # only the child pays for importing jinja2

    _limit_memory()
    with Path(os.devnull).open("w") as nowhere:
        connection.send_bytes(_READY)
        while True:
            try:
                request = connection.recv_bytes()
            except (EOFError, OSError):
                return
            # A killed parent cannot kill us. This watchdog of the interpreter works even inside a
            # single endless operation in C, and on every platform.
            faulthandler.dump_traceback_later(2 * RENDER_LIMIT_S, exit=True, file=nowhere)
            connection.send_bytes(_reply(request, render))
            faulthandler.cancel_dump_traceback_later()


def _reply(request: bytes, render: Callable[[str, Mapping[str, Any]], tuple[Outcome, str]]) -> bytes:
    """The outcome's name, a line break, and the text or the words for what went wrong."""
    try:
        source, context = json.loads(request)
        outcome, text = render(source, context)
        reply = f"{outcome}\n{text}".encode("utf-8", "surrogatepass")
    except MemoryError:
        return Outcome.MEMORY.encode()
    return reply if len(reply) <= REPLY_LIMIT_BYTES else Outcome.MEMORY.encode()


def _limit_memory() -> None:
    if sys.platform == "win32":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    # A system that does not accept the limit refuses with one of these; the time is still bounded.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, hard))
