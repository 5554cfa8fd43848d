"""The process that downloads: a `DownloadQueue` behind a pipe.

In: names of its methods with what they take, and addresses that were asked for. Out: states, ten times a
second at most, and after each command at once; and questions for addresses, so that the token stays with the
process that keeps it and a new one counts at once. When the pipe ends, since its parent is gone, it ends too.

A process of its own, which gives way, since threads that move 300 MB/s keep the interpreter's lock from the
window's.
"""

from __future__ import annotations

import itertools
import signal
import threading
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from engine.download.access import Patience
from engine.download.download_errors import DownloadStopped
from engine.download.queue import DownloadQueue
from engine.errors import DownloadError
from engine.hub.file_address import FileAddress
from engine.hub.hub_values import RemoteModel, RemotePart
from engine.hub.secret import Secret

NICENESS = 10
LEAST_S = 0.1
"""Between two reports of states that nobody asked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Where a file is, or the sentence that says why that cannot be told. Crosses the pipe, no more."""

    url: str = ""
    page: str = ""
    token: str | None = field(default=None, repr=False)
    problem: str | None = None


COMMANDS = frozenset({"add", "pause", "resume", "retry", "cancel", "move", "clear_finished", "set_parallel"})


def run_queue_worker(pipe: Connection, folder: Path, parallel: int, patience: Patience) -> None:
    """Serve the queue of the models `folder` until the pipe ends or "close" comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the parent, which ends the pipe
    # Windows has a class instead of a number. The window, and a model that answers meanwhile, come first.
    psutil.Process().nice(getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", NICENESS))
    teller = _Teller(pipe)
    access = _AskingAccess(teller)
    queue = DownloadQueue(access, folder, on_change=teller.changed.set, parallel=parallel, patience=patience)
    teller.start(queue)
    try:
        while (message := pipe.recv())[0] != "close":
            name, *values = message
            if name == "address":
                access.answer(*values)
            elif name in COMMANDS:
                getattr(queue, name)(*values[0], **values[1])
                teller.tell()
    except (EOFError, OSError):
        pass
    access.stop()
    queue.close()


class _Teller:
    """Writes to the pipe, from any thread."""

    def __init__(self, pipe: Connection) -> None:
        self.changed = threading.Event()
        self._pipe = pipe
        self._lock = threading.Lock()
        self._queue: DownloadQueue | None = None
        self._pause = threading.Event()

    def start(self, queue: DownloadQueue) -> None:
        """Report the states of `queue` from now on."""
        self._queue = queue
        self.changed.set()
        threading.Thread(target=self._work, name="download states", daemon=True).start()

    def tell(self) -> None:
        """Report them now."""
        if self._queue:
            self.send("states", self._queue.states())

    def send(self, *message: Any) -> None:
        """Send; nothing happens once the parent is gone, as the reading side sees that too."""
        with self._lock:
            try:
                self._pipe.send(message)
            except OSError:
                return

    def _work(self) -> None:
        while True:
            self.changed.wait()
            self.changed.clear()
            self.tell()
            self._pause.wait(LEAST_S)


class _AskingAccess:
    """Asks the parent for each address."""

    def __init__(self, teller: _Teller) -> None:
        self._teller = teller
        self._numbers = itertools.count()
        self._answered = threading.Condition()
        self._answers: dict[int, Answer] = {}
        self._pages: dict[str, str] = {}
        self._is_stopped = False

    def page(self, repo_id: str) -> str:
        """The page that came with the last address of the repository."""
        return self._pages.get(repo_id, "")

    def address(self, model: RemoteModel, part: RemotePart) -> FileAddress:
        """Wait for the parent's answer. Raises DownloadError, at the end of this process DownloadStopped."""
        number = next(self._numbers)
        self._teller.send("address", number, model, part)
        with self._answered:
            self._answered.wait_for(lambda: number in self._answers or self._is_stopped)
            if number not in self._answers:
                raise DownloadStopped
            answer = self._answers.pop(number)
        if answer.problem is not None:
            raise DownloadError(answer.problem)
        self._pages[model.repo_id] = answer.page
        return FileAddress(answer.url, None if answer.token is None else Secret(answer.token))

    def answer(self, number: int, answer: Answer) -> None:
        """The parent's answer to question `number`."""
        with self._answered:
            self._answers[number] = answer
            self._answered.notify_all()

    def stop(self) -> None:
        """Nothing is answered any more."""
        with self._answered:
            self._is_stopped = True
            self._answered.notify_all()
