"""Downloads that were cancelled a moment ago, and may come back: `UNDO_S` seconds each.

Ids go in with what has to be done once nobody wants them back; that is done then, or at the end. What was
fetched is not touched before. Knows nothing about queues.
"""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import QObject, QTimer, Signal

UNDO_S = 10.0


class CancelledDownloads(QObject):
    """Each is held until its time is over, and listed until it is let go."""

    ended = Signal(str)
    """Nobody wants the one with this id back: delete it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.undo_s = UNDO_S
        self._was_going: dict[str, bool] = {}
        self._timers: dict[str, QTimer] = {}

    def __contains__(self, id_: object) -> bool:
        return id_ in self._was_going

    def hold(self, id_: str, *, was_going: bool) -> None:
        """Keep one for a while; `was_going`: it has to go on if it is wanted back."""
        self._was_going[id_] = was_going
        timer = self._timers[id_] = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(lambda: self._end(id_))
        timer.start(round(self.undo_s * 1000))

    def let_go(self, id_: str) -> bool:
        """Hold it no more, without deleting it; whether it was going. Nothing happens for other ids."""
        self._stop(id_)
        return self._was_going.pop(id_, False)

    def keep_only(self, ids: Collection[str]) -> None:
        """Let go of all but these: the others are gone, or cannot be cancelled any more."""
        for id_ in [held for held in self._was_going if held not in ids]:
            self.let_go(id_)

    def end_all(self) -> None:
        """Delete all at once that are still held."""
        for id_ in list(self._timers):
            self._end(id_)

    def _end(self, id_: str) -> None:
        self._stop(id_)
        self.ended.emit(id_)

    def _stop(self, id_: str) -> None:
        timer = self._timers.pop(id_, None)
        if timer is not None:
            timer.stop()
            timer.deleteLater()
