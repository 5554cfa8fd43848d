"""Opens the chats: a sound database at once, one that must be rescued with the window alive.

A path goes in; an `OpenedStore` or a sentence comes out. Promises: a sound database is opened before `open`
returns; a broken or newer one is rescued in a thread, and opened in the thread of this object then; nothing
is told any more after `close`. Knows nothing about how a database is rescued.
"""

from __future__ import annotations

import threading
import traceback
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal

from app.data.chat_rescue import open_rescued_store, open_sound_store, rescue_chats
from engine.errors import KnownError


class ChatOpening(QObject):
    """Owns the thread that rescues, as long as it runs."""

    opened = Signal(object)
    """An `OpenedStore`, to be used in this object's thread."""

    failed = Signal(str)
    """Why the chats cannot be opened, in one sentence."""

    rescuing = Signal()
    """The chats must be rescued first, which may take a while; `opened` or `failed` follows."""

    _rescued = Signal(object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread: threading.Thread | None = None
        self._closed = False
        self._rescued.connect(self._finish, Qt.ConnectionType.QueuedConnection)

    def open(self, path: Path) -> None:
        """Open the chats at `path`; called once."""
        try:
            store = open_sound_store(path)
        except KnownError as error:
            self.failed.emit(str(error))
            return
        if store:
            self.opened.emit(store)
            return
        self.rescuing.emit()
        self._thread = threading.Thread(target=self._rescue, args=(path,), name="rescue")
        self._thread.start()

    def close(self) -> None:
        """Wait for the thread, so that nothing is left half done; nothing is told any more."""
        self._closed = True
        if self._thread:
            self._thread.join()
            self._thread = None

    def _finish(self, store_at: tuple[Path, str | None], problem: str) -> None:
        if self._closed:
            return
        if problem:
            self.failed.emit(problem)
            return
        try:
            store = open_rescued_store(*store_at)
        except KnownError as error:
            self.failed.emit(str(error))
            return
        self.opened.emit(store)

    # --- in the rescuing thread -------------------------------------------------------------------

    def _rescue(self, path: Path) -> None:
        notice, problem = None, ""
        try:
            notice = rescue_chats(path)
        except KnownError as error:
            problem = str(error)
        except Exception:  # else the window would wait for ever
            traceback.print_exc()
            problem = self.tr(
                "Your chats could not be rescued. The file was left as it is: start Weir again, or move "
                "{0} to another folder to begin with a new one."
            ).format(path)
        self._rescued.emit((path, notice), problem)
