"""The worker's way out: events in order, text merged so that a fast model does not flood the pipe.

Text is held back for at most 30 ms, which no eye notices; a reply's first piece goes out at once. What is
due goes out in one message, and text that waits goes along: each message wakes a thread of the receiver,
which takes its time from the threads that compute. Any other event of a reply goes out after its text.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection

from engine.protocol import Event, Finished, TextDelta

_MERGE_SECONDS = 0.03


class Outbox:
    """Sends tuples of events through `connection`; may be used from several threads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._held: dict[int, TextDelta] = {}  # by request
        self._begun: set[int] = set()  # the requests whose first piece of text is out
        self._sent_at = 0.0  # when text went out last

    def put(self, *events: Event) -> None:
        """Send events, merging text."""
        with self._lock:
            if due := self._due(events):
                with suppress(OSError):  # the parent is gone; the receiving thread ends the process
                    self._connection.send(tuple(due))

    def _due(self, events: Iterable[Event]) -> list[Event]:
        """What has to go out now, in order; the rest is held."""
        due: list[Event] = []
        for event in events:
            if isinstance(event, TextDelta):
                self._hold(event)
                continue
            request_id: int | None = getattr(event, "request_id", None)
            if request_id is not None and (held := self._held.pop(request_id, None)):
                due.append(held)
            due.append(event)
            if isinstance(event, Finished):
                self._begun.discard(event.request_id)
        now = time.monotonic()
        if self._held and (now - self._sent_at >= _MERGE_SECONDS or not self._begun.issuperset(self._held)):
            due += self._held.values()
            self._begun.update(self._held)
            self._held.clear()
            self._sent_at = now
        return due

    def _hold(self, delta: TextDelta) -> None:
        held = self._held.get(delta.request_id)
        self._held[delta.request_id] = replace(delta, text=held.text + delta.text) if held else delta
