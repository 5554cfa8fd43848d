"""The thread of the queue that waits for the disk: stores, looks for room, deletes, has others followed.

What it learns goes onto the board. Promises that nothing else of the queue waits for the disk, but for what
each download does itself; that all of the queue fits before one more is let in; that a file which
cannot be written now is written later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from engine.download.download_values import DownloadStatus
from engine.download.model_download import discard_download
from engine.download.queue_board import Board
from engine.download.queue_entry import Entry
from engine.download.queue_file import QueueFile, StoredDownload
from engine.download.queue_follower import Follower
from engine.download.queue_room import refusal
from engine.errors import DownloadError
from engine.hub.hub_values import RemoteModel

SAVE_AGAIN_S = 5.0
ENDING_S = 0.8
_FINISHED = frozenset({DownloadStatus.DONE, DownloadStatus.FAILED})


class Keeper:
    """Owns its thread; `fill` is called with the lock held once a download may start."""

    def __init__(self, board: Board, folder: Path, fill: Callable[[], None], follow_s: float) -> None:
        self._board = board
        self._folder = folder
        self._fill = fill
        self._follow_s = follow_s
        self._file = QueueFile(folder)
        self._save_at = 0.0
        self._follower = Follower(board, folder, self._file)
        self.thread = threading.Thread(target=self._work, name="download queue", daemon=True)

    def start(self) -> None:
        """Put what is stored onto the board, and begin."""
        self._follower.load()
        self.thread.start()

    def _work(self) -> None:
        follow_at = time.monotonic() + self._follow_s
        while True:
            with self._board.changed:
                wait_s = min(follow_at, self._save_at or follow_at) - time.monotonic()
                self._board.changed.wait_for(self._has_work, max(0.01, wait_s))
                is_closing = self._board.is_closing
            self._save()
            if is_closing:
                self._discard_last()
                return
            self._discard()
            self._find_room()
            if time.monotonic() >= follow_at:
                self._follower.follow()
                follow_at = time.monotonic() + self._follow_s

    def _has_work(self) -> bool:
        board = self._board
        can_save = bool(board.unsaved) and time.monotonic() >= self._save_at
        return can_save or board.is_closing or bool(self._unchecked()) or bool(self._ready_discards())

    # --- storing ----------------------------------------------------------------------------------

    def _save(self) -> None:
        board = self._board
        with board.changed:
            if time.monotonic() < self._save_at and not board.is_closing:
                return
            ids, order = set(board.unsaved), list(board.entries)
            board.unsaved.clear()
            entries = [entry for id_ in order if (entry := board.entries[id_]).id in ids]
            put = [_stored(entry) for entry in entries if entry.status is not DownloadStatus.DONE]
        if not ids:
            return
        try:
            self._file.update(put, ids - {item.id for item in put}, order)
            self._save_at = 0.0
        except OSError:
            self._save_at = time.monotonic() + SAVE_AGAIN_S
            with board.changed:
                board.unsaved |= ids

    # --- deleting ---------------------------------------------------------------------------------

    def _ready_discards(self) -> list[RemoteModel]:
        board = self._board
        return [model for model in board.discards.values() if not board.is_running(model.id)]

    def _discard(self) -> None:
        with self._board.changed:
            models = self._ready_discards()
        for model in models:
            with suppress(DownloadError, OSError):  # as when another process downloads it meanwhile
                discard_download(model, self._folder)
        if models:
            with self._board.changed:
                for model in models:
                    del self._board.discards[model.id]
                self._fill()

    def _discard_last(self) -> None:
        """What was cancelled just before the end would be found as an orphan at the next start."""
        with self._board.changed:
            self._board.changed.wait_for(
                lambda: len(self._ready_discards()) == len(self._board.discards), ENDING_S
            )
        self._discard()

    # --- room -------------------------------------------------------------------------------------

    def _unchecked(self) -> list[Entry]:
        return [
            entry
            for entry in self._board.entries.values()
            if entry.status is DownloadStatus.QUEUED and not entry.has_room and entry.run is None
        ]

    def _find_room(self) -> None:
        """Let in, in order, what fits beside all others that were let in or are paused."""
        with self._board.changed:
            unchecked = self._unchecked()
            refused = {entry.id for entry in unchecked}
            others = [
                entry.model
                for entry in self._board.entries.values()
                if entry.status not in _FINISHED and entry.id not in refused
            ]
        for entry in unchecked:
            failure = refusal(entry.model, others, self._folder)
            if failure is None:
                others.append(entry.model)
            with self._board.changed:
                if not self._board.has(entry) or entry.status is not DownloadStatus.QUEUED:
                    continue
                if failure is not None:
                    self._board.fail(entry, failure)
                else:
                    entry.has_room = True
                    self._fill()


def _stored(entry: Entry) -> StoredDownload:
    is_paused = entry.status is DownloadStatus.PAUSED
    return StoredDownload(entry.model, is_paused, entry.failure, entry.without_token)
