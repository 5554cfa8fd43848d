"""One engine client as a Qt object.

Events come in on the client's own thread and go out as a signal on the thread of the bridge, in
order. After `close` no event comes out any more. It knows nothing about what the events mean.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtCore import QObject, Qt, Signal

from engine.protocol import Command, DeviceMemory, Event


class Client(Protocol):
    """What a bridge needs of `engine.client.EngineClient`."""

    @property
    def pid(self) -> int | None:
        """Process id of the worker, None where there is no process."""

    def devices(self) -> Sequence[DeviceMemory]:
        """As they were when the worker started; waits until it has. () where it could not tell."""

    def send(self, command: Command) -> None:
        """Raises errors.EngineGone when the worker is not there any more."""

    def close(self) -> None:
        """End the worker; at most about 2 s, any number of times."""


ClientFactory = Callable[[Callable[[Event], None]], Client]


class EngineBridge(QObject):
    """Owns one client, and with it one worker process."""

    event_received = Signal(object)
    """An `engine.protocol.Event`, on this object's thread."""

    _arrived = Signal(object)

    def __init__(self, make_client: ClientFactory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._closing: threading.Thread | None = None
        self._arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._client = make_client(self._receive)

    @property
    def pid(self) -> int | None:
        """Process id of the worker."""
        return self._client.pid

    def devices(self) -> Sequence[DeviceMemory]:
        """As they were when the worker started; waits until it has. () where it cannot tell. Any thread."""
        return self._client.devices()

    def send(self, command: Command) -> None:
        """Pass a command on; raises errors.EngineGone when the worker is not there any more."""
        self._client.send(command)

    @property
    def is_ending(self) -> bool:
        """Whether the worker was told to end and has not yet."""
        return self._closing is not None and self._closing.is_alive()

    def close(self) -> None:
        """End the worker without waiting for it: that may take two seconds."""
        if self._closing is None:
            self._closing = threading.Thread(target=self._client.close, name="engine-close")
            self._closing.start()

    def wait_closed(self, timeout_s: float) -> None:
        """Wait until the worker has ended, at most `timeout_s`."""
        if self._closing is not None:
            self._closing.join(timeout_s)

    def _receive(self, event: Event) -> None:
        # On the client's thread, perhaps while this object is being destroyed at exit.
        with contextlib.suppress(RuntimeError):
            self._arrived.emit(event)

    def _deliver(self, event: Event) -> None:
        if self._closing is None:
            self.event_received.emit(event)
