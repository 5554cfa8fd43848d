"""The near end of the process boundary: starts a worker, sends it commands, hands on its events.

One client is one worker process, and one worker serves one model. The process is started by
`spawn`, so that it shares nothing with its parent, and only it ever loads llama.cpp: a model file
that makes llama.cpp abort costs the worker and nothing else. Its death is an ordinary event. A worker
needs a while until it can load anything, so the first one may start before there is a window.

Knows nothing about what the commands mean.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from engine.errors import EngineGone
from engine.protocol import (
    BackendReport,
    Command,
    DeviceMemory,
    EngineDied,
    Event,
    LoadModel,
    ModelLoaded,
    Quantize,
    Shutdown,
)

_SPAWN = multiprocessing.get_context("spawn")
_SECONDS_TO_END = 1.0
_SECONDS_TO_SAVE = 15.0  # a gigabyte of cells on a slow disk
_SECONDS_TO_PROBE = 30.0


class _Worker:
    """A worker process that was started, and the near end of its pipe."""

    def __init__(self) -> None:
        # Assertions of llama.cpp are written to stderr and nowhere else.
        handle, self.stderr_path = tempfile.mkstemp(prefix="weir-engine-", suffix=".log")
        os.close(handle)
        self.connection, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_serve, args=(theirs, self.stderr_path), name="weir-engine")
        self.process.start()
        theirs.close()  # so that reading ends when the worker does

    def end(self) -> None:
        """End it at once, before anybody asked it for anything."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        Path(self.stderr_path).unlink(missing_ok=True)


class EngineClient:
    """A running worker process.

    `on_event` is called in a thread of the client's own, one event at a time, in order. After
    `EngineDied`, or after `close`, it is not called again.
    """

    def __init__(self, on_event: Callable[[Event], None], worker: _Worker | None = None) -> None:
        """`worker` is one that `HeadStart` started."""
        worker = worker or _Worker()
        self._on_event = on_event
        self._closed = False
        self._saves = self._has_loaded = self._is_deaf = False
        self._sending = threading.Lock()
        self._backend: BackendReport | None = None
        self._has_begun = threading.Event()
        self._stderr_path, self._connection = worker.stderr_path, worker.connection
        self._process = worker.process
        # multiprocessing waits for its children at exit; this has to come before it.
        atexit.register(self.close)
        self._reader = threading.Thread(target=self._read, name="weir-engine-events", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int | None:
        """Process id of the worker."""
        return self._process.pid

    def devices(self, timeout_s: float = _SECONDS_TO_PROBE) -> tuple[DeviceMemory, ...]:
        """The devices as they were when the worker started, once it has; () where it ended before."""
        self._has_begun.wait(timeout_s)
        return self._backend.devices if self._backend else ()

    def send(self, command: Command) -> None:
        """Send a command; returns at once.

        Raises EngineGone if the worker has ended.
        """
        if isinstance(command, LoadModel):
            self._saves = command.saved_kv is not None
        self._is_deaf = self._is_deaf or isinstance(command, Quantize)
        try:
            with self._sending:
                self._connection.send(command)
        except (OSError, ValueError) as error:
            raise EngineGone("The engine has stopped. Your chat is safe; send the message again.") from error

    def close(self) -> None:
        """End the worker, within about a second even in the middle of a decode. May be called twice.

        A worker that keeps the cells of chats on disk takes as long as it needs to write them.
        """
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        with suppress(EngineGone):
            self.send(Shutdown())
        if self._is_deaf:  # it would put a file in place that nobody wants any more
            self._process.kill()
        self._process.join(_SECONDS_TO_SAVE if self._has_loaded and self._saves else _SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()  # loading or decoding: nothing in there needs saving
            self._process.join()
        if threading.current_thread() is not self._reader:
            self._reader.join()
        self._connection.close()
        Path(self._stderr_path).unlink(missing_ok=True)

    def _read(self) -> None:
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                break
            if isinstance(message, BackendReport):
                self._backend = message
                self._has_begun.set()
                continue
            for event in message:
                self._has_loaded = self._has_loaded or isinstance(event, ModelLoaded)
                if not self._closed:
                    self._on_event(event)
        self._has_begun.set()
        if not self._closed:
            self._process.join(_SECONDS_TO_END)
            self._on_event(EngineDied(self._process.exitcode, self._last_words()))

    def _last_words(self) -> str:
        """The line of the worker's stderr that tells most about its end."""
        with suppress(OSError):
            lines = Path(self._stderr_path).read_text("utf-8", "replace").splitlines()
            lines = [line.strip() for line in lines if line.strip()]
            asserted = [line for line in lines if "GGML_ASSERT" in line or "terminate called" in line]
            return (asserted or lines or [""])[-1][:500]
        return ""


class HeadStart:
    """A worker that starts before anybody needs one, for the first client; others get one of their own."""

    def __init__(self) -> None:
        self._worker: _Worker | None = _Worker()
        atexit.register(self.close)

    def client(self, on_event: Callable[[Event], None]) -> EngineClient:
        """A client, as `EngineClient(on_event)` would be."""
        worker, self._worker = self._worker, None
        return EngineClient(on_event, worker)

    def close(self) -> None:
        """End the worker if nobody took it: what it saw of the machine grows old."""
        atexit.unregister(self.close)
        if self._worker:
            self._worker.end()
            self._worker = None


def _serve(connection: Connection, stderr_path: str) -> None:
    """Entry of the worker process. Imports here, so that the parent never loads llama.cpp."""
    # By default libgomp's threads spin for milliseconds at each of a token's 900 barriers: with one
    # busy neighbour that makes two threads slower than one. Read by libgomp when it is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's: nothing here multiplies matrices with it
    from engine.worker import serve

    serve(connection, stderr_path, EngineClient)


def probe_backend() -> BackendReport:
    """What llama.cpp says about this machine, asked in a throwaway process.

    Raises EngineGone if llama.cpp cannot be loaded, with the reason.
    """
    ours, theirs = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=_probe, args=(theirs,), name="weir-probe")
    process.start()
    theirs.close()
    try:
        report = ours.recv() if ours.poll(_SECONDS_TO_PROBE) else "it did not answer"
    except EOFError:
        process.join()
        report = f"its process ended with code {process.exitcode}"
    finally:
        process.kill()
        process.join()
        ours.close()
    if isinstance(report, BackendReport):
        return report
    raise EngineGone(
        f"llama.cpp cannot be used here: {report}. Run `make clean` and `make run` to build it anew."
    )


def _probe(connection: Connection) -> None:
    try:
        from engine.llama import backend
    except (ImportError, OSError, RuntimeError) as error:
        connection.send(str(error))
        return
    connection.send(backend.report())
