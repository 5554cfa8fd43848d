"""What other processes do with the queue of the same folder, taken over by this one.

The queue's file is read when it has changed, and the locks of downloads that run elsewhere are tried: what
was paused there is paused here, what another process has left is gone on with. Called on one thread only,
the one that also stores what was changed here, so that nothing older than that is read.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from engine.download.download_errors import AlreadyDownloading
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.job import locked_job
from engine.download.model_download import kept_bytes
from engine.download.names import final_paths
from engine.download.orphans import orphans
from engine.download.queue_board import Board
from engine.download.queue_entry import Entry
from engine.download.queue_file import QueueFile, StoredDownload
from engine.download.queue_room import needed_bytes
from engine.errors import DownloadError


class Follower:
    """Brings the board up to date with the disk."""

    def __init__(self, board: Board, folder: Path, file: QueueFile) -> None:
        self._board = board
        self._folder = folder
        self._file = file
        self._stamp: object = None
        self._waited_for: set[str] = set()  # those that other processes had at the last look

    def load(self) -> None:
        """Put what is stored onto the board, and what lies there without being stored, as paused."""
        self._stamp = self._file.stamp
        stored = self._file.read() or ()
        lost = orphans(self._folder, [item.model for item in stored])
        for item in (*stored, *(StoredDownload(model, paused=True) for model in lost)):
            entry = self._entry(item, DownloadStatus.QUEUED)
            self._board.entries[entry.id] = entry

    def follow(self) -> None:
        """Take over what other processes have stored, and go on with what they have left."""
        stamp = self._file.stamp
        stored = self._file.read()
        if stored is not None and (stamp != self._stamp or self._waited_for):
            self._stamp = stamp
            items = {item.id: item for item in stored}
            with self._board.changed:
                self._take_over(items)
        with self._board.changed:
            elsewhere = [
                entry
                for entry in self._board.entries.values()
                if entry.status is DownloadStatus.ELSEWHERE and entry.run is None
            ]
        for entry in elsewhere:
            self._look_at(entry)
        self._waited_for = {entry.id for entry in elsewhere}

    def _take_over(self, items: dict[str, StoredDownload]) -> None:
        board = self._board
        for item in items.values():
            entry = board.entries.get(item.id)
            if entry is None:
                if item.id not in board.discards and item.id not in board.unsaved:
                    board.entries[item.id] = self._entry(item, DownloadStatus.ELSEWHERE)
            elif self._is_idle(entry):
                _adopt(entry, item)
        for entry in list(board.entries.values()):
            if entry.id not in items and self._is_idle(entry):
                self._end_elsewhere(entry)
        board.tell()

    def _is_idle(self, entry: Entry) -> bool:
        is_here = entry.run is not None or entry.id in self._board.unsaved
        return not is_here and entry.status is not DownloadStatus.DONE

    def _end_elsewhere(self, entry: Entry) -> None:
        """It is stored no more: another process has finished or cancelled it."""
        try:
            finals = final_paths(entry.model, self._folder)
            is_done = needed_bytes(entry.model, self._folder) == 0 and all(path.is_file() for path in finals)
        except (DownloadError, OSError):
            is_done = False
        if is_done:
            entry.state = DownloadState(entry.model, DownloadStatus.DONE, entry.model.size, path=finals[0])
        else:
            del self._board.entries[entry.id]

    def _look_at(self, entry: Entry) -> None:
        """How far another process has come with it, and whether it still downloads it."""
        is_left = False
        # What has just been found may be of a process that is about to take the lock.
        if entry.id in self._waited_for:
            with suppress(AlreadyDownloading), locked_job(entry.model, self._folder):
                is_left = True
        with suppress(DownloadError, OSError):
            kept = kept_bytes(entry.model, self._folder)
            with self._board.changed:
                if not self._board.has(entry) or entry.status is not DownloadStatus.ELSEWHERE:
                    return
                if is_left:
                    self._board.line_up(entry)
                else:
                    done = max(kept, entry.state.done_bytes)
                    entry.show(DownloadStatus.ELSEWHERE, done_bytes=done)
                self._board.tell()

    def _entry(self, item: StoredDownload, running: DownloadStatus) -> Entry:
        """The entry of what is stored; what was running is `running` now."""
        kept = 0
        with suppress(DownloadError, OSError):
            kept = kept_bytes(item.model, self._folder)
        entry = Entry(item.model, DownloadState(item.model, running, kept), item.without_token)
        _adopt(entry, item)
        return entry


def _adopt(entry: Entry, item: StoredDownload) -> None:
    """Have `entry`, which no thread here downloads, show what is stored."""
    entry.model, entry.without_token = item.model, item.without_token
    if item.failure is not None:
        entry.show(DownloadStatus.FAILED, failure=item.failure)
    elif item.paused:
        entry.show(DownloadStatus.PAUSED)
    elif entry.status not in (DownloadStatus.QUEUED, DownloadStatus.ELSEWHERE):
        entry.show(DownloadStatus.ELSEWHERE)
