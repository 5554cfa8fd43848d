"""Bytes in, their SHA-256 out, taken by a thread beside the one that receives them.

Hashing takes about as long as receiving and writing; side by side they cost little more than one of them. A
few buffers go round, 2 MiB in all, so they stay in the processor's cache, a slow hash holds the network
back, and memory stays bounded.
"""

from __future__ import annotations

import hashlib
import queue
import threading

BUFFER_BYTES = 1 << 18
N_BUFFERS = 8


class RunningHash:
    """Takes bytes in order; `digest` or `close` ends it. For one thread beside its own."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._free: queue.SimpleQueue[memoryview] = queue.SimpleQueue()
        self._full: queue.SimpleQueue[tuple[memoryview, int, int] | None] = queue.SimpleQueue()
        for _ in range(N_BUFFERS):
            self._free.put(memoryview(bytearray(BUFFER_BYTES)))
        self._current: memoryview | None = None
        self._thread = threading.Thread(target=self._work, name="download-hash", daemon=True)
        self._thread.start()

    def buffer(self) -> memoryview:
        """Where the next bytes go; the same one until `update`. Waits until one is free."""
        if self._current is None:
            self._current = self._free.get()
        return self._current

    def update(self, start: int, end: int) -> None:
        """The bytes `start` to `end` of the buffer follow what came before."""
        if end > start:
            self._full.put((self.buffer(), start, end))
            self._current = None

    def digest(self) -> str:
        """In lower-case hexadecimal digits, of all bytes."""
        self.close()
        return self._hash.hexdigest()

    def close(self) -> None:
        """End the thread once all bytes are taken; may be called again."""
        if self._thread.is_alive():
            self._full.put(None)
            self._thread.join()

    def _work(self) -> None:
        while (item := self._full.get()) is not None:
            buffer, start, end = item
            self._hash.update(buffer[start:end])
            self._free.put(buffer)
