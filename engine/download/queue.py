"""The queue of downloads: models go in, states come out, files appear in the models folder.

    queue -> queue_board (entries, the lock) <- queue_runs (threads, slots) -> model_download
                                             <- queue_keeper (the disk) -> queue_file, _room, _follower

Each method returns at once and may be called from any thread. Whatever ends this process, the next queue over
the same folder goes on: what ran runs again, what was paused stays paused. Several processes may have a
queue over one folder; each download is in one of them at a time. Knows nothing about who shows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from engine.download.access import PATIENCE, Access, Patience
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.queue_board import Board
from engine.download.queue_entry import Entry
from engine.download.queue_keeper import Keeper
from engine.download.queue_runs import Runs
from engine.hub.hub_values import RemoteModel

MOST_PARALLEL = 3
FOLLOW_S = 2.0
CLOSE_S = 1.0

RESUMABLE = frozenset({DownloadStatus.PAUSED, DownloadStatus.FAILED})
GONE_BY = frozenset({DownloadStatus.DONE, DownloadStatus.ELSEWHERE})  # nothing of it runs here


class DownloadQueue:
    """Downloads into the models `folder`, at most `parallel` at once, 1 to 3."""

    def __init__(
        self,
        access: Access,
        folder: Path,
        *,
        on_change: Callable[[], None],
        parallel: int = 2,
        patience: Patience = PATIENCE,
        follow_s: float = FOLLOW_S,
    ) -> None:
        """Goes on with what is there. `on_change` is called from any thread and must return at once.

        Every `follow_s` seconds it is looked what other processes have done.
        """
        self._board = Board(on_change)
        self._runs = Runs(
            self._board, access, folder, parallel=min(max(1, parallel), MOST_PARALLEL), patience=patience
        )
        self._keeper = Keeper(self._board, folder, self._runs.fill, follow_s)
        self._keeper.start()

    def states(self) -> tuple[DownloadState, ...]:
        """All downloads in order, those that are done too."""
        with self._board.changed:
            return tuple(entry.state for entry in self._board.entries.values())

    def add(self, model: RemoteModel, *, without_token: bool = False) -> str:
        """Line `model` up, behind the others if it is new; returns its id.

        Goes on with what was kept of it. What is on its way already stays as it is.
        """
        with self._board.changed:
            entry = self._board.entries.get(model.id)
            if entry is None:
                entry = Entry(model, DownloadState(model, DownloadStatus.QUEUED))
                self._board.entries[model.id] = entry
            elif entry.status not in RESUMABLE | {DownloadStatus.DONE}:
                return model.id
            entry.model, entry.without_token = model, without_token
            self._board.line_up(entry)
        return model.id

    def pause(self, id_: str) -> None:
        """Stop one that is in line or on its way; what was fetched is kept."""
        with self._board.changed:
            entry = self._board.entries.get(id_)
            if entry is None or entry.status in RESUMABLE | GONE_BY:
                return
            entry.show(DownloadStatus.PAUSED)
            self._board.unsaved.add(id_)
            self._stop(entry)

    def resume(self, id_: str) -> None:
        """Line up again what is paused or has failed."""
        with self._board.changed:
            entry = self._board.entries.get(id_)
            if entry is not None and entry.status in RESUMABLE:
                self._board.line_up(entry)

    def retry(self, id_: str, *, without_token: bool = False) -> None:
        """As `resume`; `without_token` asks the Hub as a stranger from now on."""
        with self._board.changed:
            entry = self._board.entries.get(id_)
            if entry is not None and entry.status in RESUMABLE:
                entry.without_token = without_token
                self._board.line_up(entry)

    def cancel(self, id_: str) -> None:
        """Take one out of the queue and delete what was fetched of it; a model that is done stays."""
        with self._board.changed:
            entry = self._board.entries.get(id_)
            if entry is None or entry.status is DownloadStatus.ELSEWHERE:
                return
            if entry.status is not DownloadStatus.DONE:
                self._board.discards[id_] = entry.model
            self._board.remove(entry)
            self._stop(entry)

    def move(self, id_: str, step: int) -> None:
        """Move one by `step` places, up if negative."""
        with self._board.changed:
            ids = list(self._board.entries)
            if id_ not in ids:
                return
            at = ids.index(id_)
            ids.insert(min(max(0, at + step), len(ids) - 1), ids.pop(at))
            self._board.entries = {other: self._board.entries[other] for other in ids}
            self._board.unsaved.add(id_)
            self._board.tell()

    def clear_finished(self) -> None:
        """Forget those that are done, whose models stay, and those that failed with nothing fetched."""
        with self._board.changed:
            for entry in list(self._board.entries.values()):
                is_dead = entry.status is DownloadStatus.FAILED and not entry.state.done_bytes
                if is_dead or entry.status is DownloadStatus.DONE:
                    self._board.remove(entry)

    def set_parallel(self, parallel: int) -> None:
        """Download so many at once, 1 to 3."""
        with self._board.changed:
            self._runs.set_parallel(min(max(1, parallel), MOST_PARALLEL))

    def close(self) -> None:
        """End all threads, within a second; the next queue goes on."""
        deadline = time.monotonic() + CLOSE_S
        with self._board.changed:
            self._board.is_closing = True
            for run in self._board.runs:
                run.stop.set()
            self._board.tell()
        self._runs.join(deadline)
        self._keeper.thread.join(max(0.0, deadline - time.monotonic()))

    def _stop(self, entry: Entry) -> None:
        if entry.run:
            entry.run.stop.set()
        self._board.tell()
