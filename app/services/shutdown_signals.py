"""SIGINT and SIGTERM close the application as its window's close button does.

Python runs its signal handlers between two of its own instructions, and while Qt waits there are
none: so the signal is also written into a socket that Qt watches. It knows nothing about windows.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ShutdownSignals(QObject):
    """Calls `close` on the GUI thread when the process is asked to end, while this object lives."""

    def __init__(self, close: Callable[[], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._close = close
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_signal)
        self._old_fd = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._old_handlers = {number: signal.signal(number, _note) for number in _SIGNALS}

    def release(self) -> None:
        """Put the former handlers back."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._old_fd)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    def _on_signal(self) -> None:
        self._reader.recv(64)
        self._close()


def _note(_number: int, _frame: object) -> None:
    """Only the wake-up counts; without a handler the process would simply end."""
