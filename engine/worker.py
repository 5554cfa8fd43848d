"""The far end of the process boundary: a process that loads one model and answers with it, or measures it.

Commands come in through a pipe and are read by a thread of their own, so that Cancel is seen
between two decodes, and one more counts the tokens of drafts; everything else happens in the main
thread: load, then step the scheduler while there is work. When the parent dies the pipe ends, and so
does this process, whatever it is doing.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from importlib import import_module
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import psutil

from engine.chat.token_counter import TokenCounter
from engine.decoding.scheduler import Scheduler
from engine.errors import BugError, WeirError
from engine.llama import backend
from engine.loading import LoadedModel, load
from engine.outbox import Outbox
from engine.protocol import (
    Bench,
    Cancel,
    Command,
    CountTokens,
    Endure,
    ErrorReport,
    Failed,
    Finished,
    Forget,
    Gauges,
    Generate,
    LoadModel,
    LookAt,
    Quantize,
    Shutdown,
)

if TYPE_CHECKING:
    from engine.measure.bench_chat import ClientFactory

_GAUGE_SECONDS = 0.25
_IDLE_GAUGE_SECONDS = 2.0


def serve(connection: Connection, stderr_path: str, make_client: ClientFactory) -> None:
    """Run the worker until `Shutdown` or the parent's death.

    `make_client` starts another worker: a benchmark measures a chat from outside.
    """
    _write_output_to(stderr_path)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is the front end's to understand
    # Asked for by whoever plans the load, who would need a process of its own for it otherwise.
    connection.send(backend.report())
    outbox = Outbox(connection)
    commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, commands), daemon=True).start()
    first = commands.get()
    try:
        if isinstance(first, Endure):
            from engine.measure.endurance import endure  # brings NumPy, which a chat needs not

            # Cancel and Shutdown are all that can come, and either ends the run.
            endure(first, outbox.put, is_cancelled=lambda: not commands.empty())
        if isinstance(first, Bench):
            from engine.measure.bench import bench

            bench(first, outbox.put, is_cancelled=lambda: not commands.empty(), make_client=make_client)
        if isinstance(first, Quantize):
            from engine.quantizing import give_way, quantize

            give_way()
            quantize(first, outbox.put)  # nothing but its end cancels it
        if not isinstance(first, LoadModel):
            return
        loaded = load(first, outbox.put)
        import_module("engine.llama.candidates")  # NumPy takes a while: now, not with the first message
    except WeirError as error:
        outbox.put(Failed(None, ErrorReport.of(error)))
        return
    try:
        Worker(loaded, outbox, commands).run()
    finally:
        loaded.close()


class Worker:
    """Answers commands with a loaded model."""

    def __init__(self, loaded: LoadedModel, outbox: Outbox, commands: queue.SimpleQueue[Command]) -> None:
        self._outbox = outbox
        self._commands = commands
        self._kv_bytes = loaded.context.kv_bytes
        self._shelf = loaded.shelf
        self._scheduler = Scheduler(
            loaded.model,
            loaded.context,
            loaded.prompts,
            loaded.n_seq_max,
            loaded.shelf,
            draft_model=loaded.draft_model,
            follows_load=loaded.follows_load,
            most_exact=loaded.most_exact,
        )
        self._counter = TokenCounter(loaded.model.count, outbox.put)
        self._process = psutil.Process()
        self._next_gauges = 0.0

    def run(self) -> None:
        """Work until `Shutdown`."""
        while self._carry_out_commands():
            if self._scheduler.busy:
                events = self._scheduler.step()
                self._outbox.put(*events)
                if any(isinstance(event, Finished) for event in events):
                    self._next_gauges = 0.0  # what a finished turn left is shown at once
            self._send_gauges_if_due()
        self._counter.close()
        self._scheduler.close()
        if self._shelf:
            self._shelf.close()

    def _carry_out_commands(self) -> bool:
        """Carry out what has come in; waits for more while there is nothing to decode."""
        try:
            command = self._commands.get(timeout=self._patience())
            while True:
                if isinstance(command, Shutdown):
                    return False
                self._carry_out(command)
                command = self._commands.get_nowait()
        except queue.Empty:
            return True

    def _patience(self) -> float:
        # A timeout of 0 is "do not wait" for SimpleQueue.get.
        return 0.0 if self._scheduler.busy else max(0.0, self._next_gauges - time.monotonic())

    def _carry_out(self, command: Command) -> None:
        match command:
            case Generate():
                self._scheduler.submit(command)
            case LookAt():
                self._outbox.put(self._scheduler.look(command))
            case CountTokens():
                self._counter.ask(command)
            case Cancel(request_id):
                self._scheduler.cancel(request_id)
            case Forget(chat_id):
                self._scheduler.forget(chat_id)
            case _:
                raise BugError(f"The worker cannot carry out {command!r}.")

    def _send_gauges_if_due(self) -> None:
        now = time.monotonic()
        if now < self._next_gauges:
            return
        self._next_gauges = now + (_GAUGE_SECONDS if self._scheduler.busy else _IDLE_GAUGE_SECONDS)
        scheduler, newest = self._scheduler, self._scheduler.newest_reply
        share = scheduler.cells_used / scheduler.cells
        memory = self._process.memory_info()
        self._outbox.put(
            Gauges(
                decode_tps=scheduler.decode_tps,
                prefill_tps=newest.prefill_tps if newest else None,
                ttft_ms=newest.ttft_ms if newest else None,
                kv_cells_used=scheduler.cells_used,
                kv_cells=scheduler.cells,
                kv_bytes_used=None if self._kv_bytes is None else round(self._kv_bytes * share),
                kv_bytes=self._kv_bytes,
                rss_bytes=memory.rss,
                rss_file_bytes=getattr(memory, "shared", None),  # Linux alone tells it
                devices=backend.devices(),
                n_threads=scheduler.n_threads,
                sequences=scheduler.uses,
            )
        )


def _receive(connection: Connection, commands: queue.SimpleQueue[Command]) -> None:
    while True:
        try:
            commands.put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)  # the parent is gone: nobody waits for what the main thread is doing


def _write_output_to(path: str) -> None:
    """Send everything that native code prints to a file, where the parent finds its last words."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # a windowed program on Windows has none
            os.dup2(descriptor, stream.fileno())
    os.close(descriptor)
