"""Has the system write a growing file to the disk while more of it comes.

Otherwise it keeps gigabytes to itself, and the sync at the end takes many seconds during which a finished
download does not end; 500 MB took 0.27 s there, and with this almost nothing.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

STEP_BYTES = 1 << 26


class EarlySync:
    """Syncs the open file `descriptor` each 64 MiB, in a thread that starts with the first ones."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._n_waiting = 0
        self._due = threading.Event()
        self._ends = False
        self._thread: threading.Thread | None = None

    def wrote(self, n_bytes: int) -> None:
        """`n_bytes` more are in the file."""
        self._n_waiting += n_bytes
        if self._n_waiting >= STEP_BYTES:
            self._n_waiting = 0
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="download-sync", daemon=True)
                self._thread.start()
            self._due.set()

    def close(self) -> None:
        """End; to be called before the descriptor is closed."""
        self._ends = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while self._due.wait() and not self._ends:
            self._due.clear()
            with suppress(OSError):  # whoever syncs at the end is told
                os.fsync(self._descriptor)
