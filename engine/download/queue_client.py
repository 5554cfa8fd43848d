"""A queue of downloads in a process of its own, as `DownloadQueue` offers it to whoever must stay responsive.

Wishes go in, states come out as the process tells them. The process is started when there is something to
download. Should it die, another one goes on with what it has left; if that dies again and again, what was on
its way has failed. Nothing here waits for a disk or a network.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from engine.download.access import PATIENCE, Access, Patience
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.names import DOWNLOADS_FOLDER
from engine.download.queue_file import QueueFile
from engine.download.queue_worker import Answer, run_queue_worker
from engine.errors import KnownError
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RemoteModel, RemotePart

CLOSE_S = 1.5
AGAIN_S = 0.2
MOST_DEATHS = 3  # in a row, without a single report
_AT_REST = frozenset({DownloadStatus.PAUSED, DownloadStatus.FAILED, DownloadStatus.DONE})
_Message = tuple[Any, ...]


class QueueClient:
    """The methods are those of `DownloadQueue`, which see; each returns at once, on any thread."""

    def __init__(
        self,
        access: Access,
        folder: Path,
        *,
        on_change: Callable[[], None],
        parallel: int = 2,
        patience: Patience = PATIENCE,
    ) -> None:
        """Goes on with what is there."""
        self._access = access
        self._folder = folder
        self._on_change = on_change
        self._parallel = parallel
        self._patience = patience
        self._lock = threading.RLock()
        self._states: tuple[DownloadState, ...] = ()
        self._added: dict[str, DownloadState] = {}  # those that the process has not told of yet
        self._unsent: list[_Message] = []
        self._pipe: Connection | None = None
        self._process: Any = None
        self._thread: threading.Thread | None = None
        self._is_closing = False
        if QueueFile(folder).read() or any((folder / DOWNLOADS_FOLDER).glob("*/*.part")):
            self._begin()

    def states(self) -> tuple[DownloadState, ...]:
        """All downloads, as they were told last."""
        with self._lock:
            listed = {state.id for state in self._states}
            return (*self._states, *(state for id_, state in self._added.items() if id_ not in listed))

    def add(self, model: RemoteModel, *, without_token: bool = False) -> str:
        """Line `model` up; it is among the states at once."""
        with self._lock:
            self._added[model.id] = DownloadState(model, DownloadStatus.QUEUED)
            self._ask("add", model, without_token=without_token)
        return model.id

    def pause(self, id_: str) -> None:
        """Stop one; what was fetched is kept."""
        self._ask("pause", id_)

    def resume(self, id_: str) -> None:
        """Line up again what is paused or has failed."""
        self._ask("resume", id_)

    def retry(self, id_: str, *, without_token: bool = False) -> None:
        """As `resume`, with or without the token."""
        self._ask("retry", id_, without_token=without_token)

    def cancel(self, id_: str) -> None:
        """Take one out of the queue and delete what was fetched of it."""
        with self._lock:
            self._added.pop(id_, None)
            self._ask("cancel", id_)

    def move(self, id_: str, step: int) -> None:
        """Move one by `step` places, up if negative."""
        self._ask("move", id_, step)

    def clear_finished(self) -> None:
        """Forget those that are done, or have failed with nothing fetched."""
        self._ask("clear_finished")

    def set_parallel(self, parallel: int) -> None:
        """Download so many at once, 1 to 3."""
        self._parallel = parallel
        if self._thread is not None:
            self._ask("set_parallel", parallel)

    def close(self) -> None:
        """End the process, within a moment; the next one goes on."""
        with self._lock:
            self._is_closing = True
            self._send(("close",))
            process, thread = self._process, self._thread
        if process is not None:
            process.join(CLOSE_S)
            if process.exitcode is None:
                process.kill()
        if thread is not None:
            thread.join(CLOSE_S)

    # --- the process ------------------------------------------------------------------------------

    def _ask(self, name: str, *values: Any, **named: Any) -> None:
        with self._lock:
            if not self._is_closing and not self._send((name, values, named)):
                self._unsent.append((name, values, named))
                self._begin()

    def _send(self, message: _Message) -> bool:
        try:
            if self._pipe is None:
                return False
            self._pipe.send(message)
        except OSError:  # it has just died
            return False
        return True

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="download process", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        """Have a process, and another one if it dies."""
        n_deaths = 0
        while n_deaths < MOST_DEATHS and not self._is_closing:
            pipe = self._start()
            n_deaths = 0 if self._receive(pipe) else n_deaths + 1
            with self._lock:
                self._pipe = None
                pipe.close()
            time.sleep(0.0 if self._is_closing else AGAIN_S)
        if not self._is_closing:
            self._fail()

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        pipe, childs = context.Pipe()
        process = context.Process(
            target=run_queue_worker,
            args=(childs, self._folder, self._parallel, self._patience),
            name="weir downloads",
            daemon=True,
        )
        process.start()  # takes some milliseconds: not with the lock, which the window may want
        childs.close()
        with self._lock:
            self._process, self._pipe = process, pipe
            unsent, self._unsent = self._unsent, []
            for message in unsent if not self._is_closing else [("close",)]:
                self._send(message)
        return pipe

    def _receive(self, pipe: Connection) -> bool:
        """Take in what the process says until it ends; whether it said anything."""
        has_told = False
        while True:
            try:
                name, *values = pipe.recv()
            except (EOFError, OSError):
                return has_told
            if name == "states":
                has_told = True
                self._take(values[0])
            else:
                # The token may have to be asked of a keyring, which takes as long as it likes.
                threading.Thread(target=self._answer, args=(pipe, *values), daemon=True).start()

    def _take(self, states: tuple[DownloadState, ...]) -> None:
        with self._lock:
            self._states = states
            for state in states:
                self._added.pop(state.id, None)
        self._on_change()

    def _answer(self, pipe: Connection, number: int, model: RemoteModel, part: RemotePart) -> None:
        answer = answer_of(self._access, model, part)
        with self._lock:
            if pipe is self._pipe:  # the process that asked is still there
                self._send(("address", number, answer))

    def _fail(self) -> None:
        reason = "The process that downloads has ended. What was fetched is kept: try again."
        with self._lock:
            self._thread = None
            listed = self.states()
            self._added.clear()
            self._states = tuple(
                state
                if state.status in _AT_REST
                else replace(state, status=DownloadStatus.FAILED, reason=reason, remedies=(Remedy.TRY_AGAIN,))
                for state in listed
            )
        self._on_change()


def answer_of(access: Access, model: RemoteModel, part: RemotePart) -> Answer:
    """Where `part` is, for a process that must not keep the token."""
    try:
        address = access.address(model, part)
    except KnownError as error:
        return Answer(problem=str(error))
    token = None if address.token is None else address.token.reveal()
    return Answer(address.url, access.page(model.repo_id), token)
