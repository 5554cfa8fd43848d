"""What the threads of the queue share: the entries in order, what is to be stored, and one lock for all.

Whoever reads or changes anything here holds `changed`, a condition; whoever changed something tells it.
Nothing blocks while the lock is held: no disk, no network.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.download.download_values import DownloadStatus
from engine.download.queue_entry import Entry, Failure, Run
from engine.hub.hub_values import RemoteModel


class Board:
    """`unsaved`: ids whose entries, or absence, are to be stored. `discards`: what was cancelled, by id."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        """`on_change` is called with the lock held, from any thread."""
        self.changed = threading.Condition()
        self.entries: dict[str, Entry] = {}
        self.runs: list[Run] = []
        self.unsaved: set[str] = set()
        self.discards: dict[str, RemoteModel] = {}
        self.is_closing = False
        self._on_change = on_change

    def tell(self) -> None:
        """Something has changed."""
        self.changed.notify_all()
        self._on_change()

    def has(self, entry: Entry) -> bool:
        """Whether `entry` is still in the queue; another one may have taken its place."""
        return self.entries.get(entry.id) is entry

    def is_running(self, id_: str) -> bool:
        """Whether a thread still downloads this model, even if it was told to stop."""
        return any(run.model.id == id_ for run in self.runs)

    def line_up(self, entry: Entry) -> None:
        """Have `entry` downloaded as soon as there are room and a free slot."""
        entry.has_room = False
        entry.show(DownloadStatus.QUEUED)
        self.unsaved.add(entry.id)
        self.tell()

    def fail(self, entry: Entry, failure: Failure, done_bytes: int | None = None) -> None:
        """Only a person can help."""
        entry.show(DownloadStatus.FAILED, failure=failure, done_bytes=done_bytes)
        self.unsaved.add(entry.id)
        self.tell()

    def remove(self, entry: Entry) -> None:
        """Forget `entry`."""
        del self.entries[entry.id]
        self.unsaved.add(entry.id)
        self.tell()
