"""Searching all chats while somebody types.

Texts go in, `SearchResult`s come out, on this object's thread. Promises: typing never waits for the disk:
the database is read by a thread of its own, over a connection of its own; only what was asked for last is
answered; the thread starts with the first search and ends with `close`. Knows nothing about widgets.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.data.stored_message import Found
from engine.errors import KnownError

DEBOUNCE_MS = 150
"""How long somebody must pause before the search begins."""

LIMIT = 200
"""How many places are looked for."""


class Reader(Protocol):
    """What a search needs of a store that belongs to the searching thread alone."""

    def search(self, text: str, limit: int = LIMIT) -> list[Found]:
        """Places that match, best first. Raises KnownError when the disk fails."""

    def close(self) -> None:
        """Let go of the database."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found for `text`; `problem` is one sentence if the search failed.

    `is_cut`: there may be more places than those in `found`.
    """

    text: str
    found: tuple[Found, ...] = ()
    is_cut: bool = False
    problem: str | None = None


class Search(QObject):
    """Owns the thread that searches, and what was asked for last."""

    found = Signal(object)
    """A `SearchResult` for the text that was asked for last."""

    _arrived = Signal(object)

    def __init__(self, open_reader: Callable[[], Reader], parent: QObject | None = None) -> None:
        """`open_reader` is called in the searching thread; it may raise KnownError."""
        super().__init__(parent)
        self._open_reader = open_reader
        self._reader: Reader | None = None  # touched by the searching thread only
        self._thread: ThreadPoolExecutor | None = None
        self._text = ""
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(DEBOUNCE_MS)
        self._pause.timeout.connect(self._begin)
        self._arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def find(self, text: str) -> None:
        """Look for `text` as soon as no other text follows; a blank one only ends what was looked for."""
        self._text = text.strip()
        if self._text:
            self._pause.start()
        else:
            self._pause.stop()

    def close(self) -> None:
        """End the thread; nothing is found any more."""
        self._pause.stop()
        self._text = ""
        if self._thread:
            self._thread.submit(self._close_reader)
            self._thread.shutdown()
            self._thread = None

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="search")
        self._thread.submit(self._search, self._text)

    def _deliver(self, result: SearchResult) -> None:
        if result.text == self._text:
            self.found.emit(result)

    # --- in the searching thread ------------------------------------------------------------------

    def _search(self, text: str) -> None:
        if text != self._text:  # asked for something else while this waited
            return
        try:
            self._reader = self._reader or self._open_reader()
            found = self._reader.search(text, LIMIT)
            result = SearchResult(text, tuple(found), is_cut=len(found) >= LIMIT)
        except KnownError as error:
            result = SearchResult(text, problem=str(error))
        with contextlib.suppress(RuntimeError):  # perhaps this object is being destroyed at exit
            self._arrived.emit(result)

    def _close_reader(self) -> None:
        if self._reader:
            self._reader.close()
            self._reader = None
