"""The worker's way out: events in order, text merged so that a fast model does not flood the pipe.

Text of one reply is held back for at most 30 ms, which no eye notices, and less at the start: the
first piece goes out at once. Any other event of the same reply goes out after its text.
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
    """Sends events through `connection`; may be used from several threads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._held: dict[int, TextDelta] = {}
        self._sent_at: dict[int, float] = {}

    def put(self, *events: Event) -> None:
        """Send events, merging text."""
        with self._lock:
            self._put(events)

    def _put(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, TextDelta):
                self._hold(event)
            else:
                self._flush(getattr(event, "request_id", None))
                self._send(event)
            if isinstance(event, Finished):
                self._sent_at.pop(event.request_id, None)
        now = time.monotonic()
        for request_id in [key for key in self._held if now - self._sent_at.get(key, 0.0) >= _MERGE_SECONDS]:
            self._flush(request_id)

    def _hold(self, delta: TextDelta) -> None:
        held = self._held.get(delta.request_id)
        text = held.text + delta.text if held else delta.text
        self._held[delta.request_id] = replace(delta, text=text)

    def _flush(self, request_id: int | None) -> None:
        held = self._held.pop(request_id, None) if request_id is not None else None
        if held:
            self._sent_at[held.request_id] = time.monotonic()
            self._send(held)

    def _send(self, event: Event) -> None:
        with suppress(OSError):  # the parent is gone; the receiving thread ends the process
            self._connection.send(event)
