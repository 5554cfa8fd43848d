"""The threads that download, and the slots that keep all but a few of them from connecting.

Each attempt at a part passes a gate and needs a slot there. A download that waits for a server or a network
gives its slot to the next in line, but keeps its thread: what it has hashed, and how patient it has become.
Stalls end by themselves: a connection that stays silent is given up, and its download waits then.
"""

from __future__ import annotations

import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path

from engine.download.access import Access, Patience
from engine.download.download_errors import AlreadyDownloading, DownloadStopped
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.model_download import download_model, kept_bytes
from engine.download.queue_board import Board
from engine.download.queue_entry import Entry, Run, failure_of
from engine.errors import DownloadError
from engine.hub.file_address import FileAddress
from engine.hub.hub_values import RemoteModel, RemotePart

MOST_RUNS = 8  # threads, most of which wait


class Runs:
    """Starts and stops; every method but `join` is called with the board's lock held."""

    def __init__(
        self, board: Board, access: Access, folder: Path, *, parallel: int, patience: Patience
    ) -> None:
        self._board = board
        self._access = access
        self._folder = folder
        self._patience = patience
        self._parallel = parallel

    def fill(self) -> None:
        """Give the free slots to those in line, in order."""
        for entry in self._board.entries.values():
            if self._board.is_closing or self._n_busy() >= self._parallel:
                break
            if entry.run is None:
                if self._can_start(entry):
                    self._start(entry)
            elif entry.run.at_gate and not entry.run.stop.is_set():
                entry.run.holds_slot = True
        self._board.tell()

    def set_parallel(self, parallel: int) -> None:
        """So many at once; of those that run now the last ones go back into the line."""
        self._parallel = parallel
        running = [entry for entry in self._board.entries.values() if entry.run and entry.run.holds_slot]
        for entry in running[parallel:]:
            if entry.run and not entry.run.stop.is_set():
                entry.run.stop.set()
                entry.show(DownloadStatus.QUEUED)
        self.fill()

    def join(self, deadline: float) -> None:
        """Wait until the threads have ended, or until `deadline` by the monotonic clock."""
        for run in list(self._board.runs):
            if run.thread:
                run.thread.join(max(0.0, deadline - time.monotonic()))

    def pass_gate(self, entry: Entry, run: Run) -> None:
        """Wait for a slot, without the lock at first. Raises DownloadStopped."""
        with self._board.changed:
            if not run.holds_slot:
                run.at_gate = True
                self.fill()
                if not run.holds_slot and not run.stop.is_set():
                    entry.show(DownloadStatus.QUEUED, reason=entry.state.reason)
                    self._board.tell()
                self._board.changed.wait_for(lambda: run.holds_slot or run.stop.is_set())
                run.at_gate = False
            if run.stop.is_set():
                raise DownloadStopped

    def _n_busy(self) -> int:
        return sum(run.holds_slot for run in self._board.runs)

    def _can_start(self, entry: Entry) -> bool:
        is_waiting = entry.status is DownloadStatus.QUEUED and entry.has_room
        return is_waiting and entry.id not in self._board.discards and len(self._board.runs) < MOST_RUNS

    def _start(self, entry: Entry) -> None:
        run = entry.run = Run(entry.model)
        self._board.runs.append(run)
        run.thread = threading.Thread(
            target=self._work, args=(entry, run), name=f"download {entry.id}", daemon=True
        )
        run.thread.start()

    # --- on the thread of a download, without the lock ---------------------------------------------

    def _work(self, entry: Entry, run: Run) -> None:
        gate = _Gate(self, self._access, entry, run)
        path: Path | None = None
        error: DownloadError | None = None
        try:
            path = download_model(
                gate,
                run.model,
                self._folder,
                report=lambda state: self._report(entry, run, state),
                stop=run.stop,
                patience=self._patience,
            )
        except DownloadError as failure:
            error = failure
        except Exception as fault:  # it must not take the other downloads with it
            traceback.print_exc()
            error = DownloadError(
                f"Weir made a mistake ({type(fault).__name__}). What was fetched is kept: try again."
            )
        kept = run.model.size if path else self._kept(run.model)
        with self._board.changed:
            self._board.runs.remove(run)
            entry.run = None
            if self._board.has(entry) and not self._board.is_closing:
                self._end(entry, run, path, error, kept)
            self.fill()

    def _report(self, entry: Entry, run: Run, state: DownloadState) -> None:
        with self._board.changed:
            if run.stop.is_set() or state.status is DownloadStatus.DONE:
                return  # what is wished is shown already; the end is told with the thread's
            entry.state = state
            self._board.tell()
            if state.status is DownloadStatus.WAITING and run.holds_slot:
                run.holds_slot = False
                self.fill()

    def _end(self, entry: Entry, run: Run, path: Path | None, error: DownloadError | None, kept: int) -> None:
        if path is not None:
            state = DownloadState(entry.model, DownloadStatus.DONE, entry.model.size, path=path)
            entry.state = state
            self._board.unsaved.add(entry.id)
        elif run.stop.is_set():
            entry.state = replace(entry.state, done_bytes=kept)
        elif isinstance(error, AlreadyDownloading):
            entry.show(DownloadStatus.ELSEWHERE, done_bytes=kept)
        elif error is not None:
            self._board.fail(entry, failure_of(error), done_bytes=kept)

    def _kept(self, model: RemoteModel) -> int:
        try:
            return kept_bytes(model, self._folder)
        except (DownloadError, OSError):
            return 0


class _Gate:
    """The access of one download, which waits for a slot before each attempt."""

    def __init__(self, runs: Runs, access: Access, entry: Entry, run: Run) -> None:
        self._runs = runs
        self._access = access
        self._entry = entry
        self._run = run

    def page(self, repo_id: str) -> str:
        return self._access.page(repo_id)

    def address(self, model: RemoteModel, part: RemotePart) -> FileAddress:
        self._runs.pass_gate(self._entry, self._run)
        address = self._access.address(model, part)
        return replace(address, token=None) if self._entry.without_token else address
