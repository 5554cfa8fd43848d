"""The queue of downloads for the window: states arrive on its thread, ten times a second at most.

Wishes go in, lists of `DownloadState` come out: what goes on or can go on first, then what has stopped, then
what is done. Promises that no download, however fast, keeps the window busy, that a wish of the user shows
within a tenth of a second, and that one of which something was fetched can be wanted back for a while after
it was cancelled. Knows nothing about widgets and servers.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.services.cancelled_downloads import CancelledDownloads
from app.services.download_ends import can_resume, rank
from app.services.download_wishes import MakeQueue
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.queue import RESUMABLE
from engine.hub.hub_values import RemoteModel

LEAST_MS = 100
"""Between two lists of states."""

_IDLE = RESUMABLE | {DownloadStatus.DONE, DownloadStatus.CANCELLED}
_ENDED = frozenset({DownloadStatus.DONE, DownloadStatus.FAILED, DownloadStatus.CANCELLED})
_NOT_CANCELLABLE = frozenset({DownloadStatus.DONE, DownloadStatus.ELSEWHERE})


@dataclass(frozen=True, slots=True)
class DownloadsSummary:
    """All downloads in three numbers.

    `n_unfinished` go on, wait or are paused; `percent` is of those on their way, None while there are none.
    """

    n_unfinished: int = 0
    n_failed: int = 0
    percent: int | None = None


class Downloads(QObject):
    """Owns the queue."""

    changed = Signal(object)
    """A tuple of `DownloadState`s: all there are, in order."""

    summary_changed = Signal(object)
    """A `DownloadsSummary`, when one of its numbers is another one."""

    finished = Signal(object)
    """The path of a model that has just come."""

    failed = Signal(object)
    """The `DownloadState` of one that has just failed."""

    parallel_changed = Signal(int)
    """The user wants so many at once."""

    _stirred = Signal()

    def __init__(self, make_queue: MakeQueue, *, parallel: int = 2, parent: QObject | None = None) -> None:
        """`make_queue` is given what the queue has to call; unfinished downloads go on now."""
        super().__init__(parent)
        self._parallel = parallel
        self._is_told = self._is_closed = False
        self._looked_at = 0.0
        self._states: tuple[DownloadState, ...] = ()
        self._summary = DownloadsSummary()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._look)
        self._stirred.connect(self._wait, Qt.ConnectionType.QueuedConnection)
        self._queue = make_queue(self._on_change)
        self._queue.set_parallel(parallel)
        self.cancelled = CancelledDownloads(self)
        self.cancelled.ended.connect(self._queue.cancel)
        self._states = self._listed()  # what failed before this start is no news
        self._summary = summary_of(self._states)

    @property
    def states(self) -> tuple[DownloadState, ...]:
        """All downloads, as they were told last."""
        return self._states

    @property
    def summary(self) -> DownloadsSummary:
        """As it was told last."""
        return self._summary

    @property
    def parallel(self) -> int:
        """How many run at once."""
        return self._parallel

    def add(self, model: RemoteModel, *, without_token: bool = False) -> None:
        """Download `model`, or go on with it."""
        self.cancelled.let_go(model.id)
        self._queue.add(model, without_token=without_token)
        self._look()

    def pause(self, id_: str) -> None:
        """Keep what was fetched, and fetch no more."""
        self._queue.pause(id_)
        self._look()

    def resume(self, id_: str) -> None:
        """Go on with what is paused, or try again what has failed."""
        self._queue.resume(id_)
        self._look()

    def retry_without_token(self, id_: str) -> None:
        """Try again what has failed, as a stranger."""
        self._queue.retry(id_, without_token=True)
        self._look()

    def cancel(self, id_: str) -> None:
        """Forget one, and delete what was fetched unless it is done.

        Where something was fetched that is done after `UNDO_S` seconds; it is CANCELLED until then.
        """
        state = next((state for state in self._states if state.id == id_), None)
        if state is None or not state.done_bytes or state.status in _NOT_CANCELLABLE:
            self._queue.cancel(id_)
        elif id_ not in self.cancelled:
            self.cancelled.hold(id_, was_going=state.status not in _IDLE)
            self._queue.pause(id_)
        self._look()

    def undo_cancel(self, id_: str) -> None:
        """Have one back that is CANCELLED, as it was."""
        if self.cancelled.let_go(id_):
            self._queue.resume(id_)
        self._look()

    def move(self, id_: str, step: int) -> None:
        """Move one by `step` places, up if negative."""
        self._queue.move(id_, self._queue_step(id_, step))
        self._look()

    def pause_all(self) -> None:
        """Pause all that are in line or on their way."""
        for state in self._states:
            if state.status not in _IDLE:
                self._queue.pause(state.id)
        self._look()

    def resume_all(self) -> None:
        """Go on with all that can."""
        for state in self._states:
            if can_resume(state):
                self._queue.resume(state.id)
        self._look()

    def clear_finished(self) -> None:
        """Do not list any more what is done, or has stopped before anything was fetched."""
        self._queue.clear_finished()
        self._look()

    def set_parallel(self, parallel: int) -> None:
        """Run so many at once, 1 to 3."""
        if parallel != self._parallel:
            self._parallel = parallel
            self._queue.set_parallel(parallel)
            self.parallel_changed.emit(parallel)

    def close(self) -> None:
        """End all threads, within a second; nothing is told any more."""
        self._timer.stop()
        self._is_closed = True
        self.cancelled.end_all()
        self._queue.close()

    def _on_change(self) -> None:
        """On any thread."""
        if not self._is_told:
            self._is_told = True
            with contextlib.suppress(RuntimeError):  # this object is being destroyed at exit
                self._stirred.emit()

    def _wait(self) -> None:
        since_ms = (time.monotonic() - self._looked_at) * 1000
        if not self._timer.isActive() and not self._is_closed:
            self._timer.start(max(0, round(LEAST_MS - since_ms)))

    def _look(self) -> None:
        self._looked_at = time.monotonic()
        self._is_told = False  # before the look: what changes after it is told again
        before, self._states = self._states, self._listed()
        if self._states == before:
            return
        self.changed.emit(self._states)
        summary = summary_of(self._states)
        if summary != self._summary:
            self._summary = summary
            self.summary_changed.emit(summary)
        self._tell_ends({state.id: state.status for state in before})

    def _listed(self) -> tuple[DownloadState, ...]:
        """The states of the queue as they are to be shown."""
        states = sorted(self._queue.states(), key=rank)
        self.cancelled.keep_only({state.id for state in states if state.status not in _NOT_CANCELLABLE})
        return tuple(_cancelled(state) if state.id in self.cancelled else state for state in states)

    def _queue_step(self, id_: str, step: int) -> int:
        """By how many places of the queue `id_` has to move to pass `step` of the rows that are like it."""
        queued = self._queue.states()
        ids = [state.id for state in queued]
        if id_ not in ids:
            return step
        at = ids.index(id_)
        alike = [place for place, state in enumerate(queued) if rank(state) == rank(queued[at])]
        target = min(max(0, alike.index(at) + step), len(alike) - 1)
        return alike[target] - at

    def _tell_ends(self, before: Mapping[str, DownloadStatus]) -> None:
        for state in self._states:
            was = before.get(state.id)
            if was is state.status:
                continue
            if state.path is not None:
                self.finished.emit(state.path)
            elif state.status is DownloadStatus.FAILED and was is not DownloadStatus.CANCELLED:
                self.failed.emit(state)


def _cancelled(state: DownloadState) -> DownloadState:
    return DownloadState(state.model, DownloadStatus.CANCELLED, state.done_bytes)


def summary_of(states: tuple[DownloadState, ...]) -> DownloadsSummary:
    """The numbers of all these."""
    active = [state for state in states if state.status not in _IDLE]
    total = sum(state.total_bytes for state in active)
    done = sum(state.done_bytes for state in active)
    return DownloadsSummary(
        n_unfinished=sum(state.status not in _ENDED for state in states),
        n_failed=sum(state.status is DownloadStatus.FAILED for state in states),
        percent=done * 100 // total if total else None,
    )
