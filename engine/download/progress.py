"""What a download has reached in, states for whoever shows it out: ten a second at most.

The bytes that are done never fall and never exceed the total, whatever had to be fetched again: a part
that starts anew stands still until it has caught up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from engine.download.access import Report
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.speed import Speed
from engine.hub.hub_values import RemoteModel

INTERVAL_S = 0.1
QUIET_S = 2.0  # without a byte there is no speed to be told, and no time that is left


class Progress:
    """Owned by the thread that downloads; `parts_done` has the good bytes of each part."""

    def __init__(
        self, model: RemoteModel, report: Report, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.parts_done = [0] * len(model.parts)
        self._model = model
        self._report = report
        self._clock = clock
        self._speed = Speed(clock())
        self._most_done = 0
        self._came_at = clock()
        self._reported_at = float("-inf")

    def start_fetching(self) -> None:
        """What came before, as the check of what was kept, has no speed."""
        self._speed = Speed(self._clock())

    def arrived(self, part: int, n_bytes: int, n_done: int) -> None:
        """`n_bytes` of `part` have come, which now has `n_done` good ones."""
        self.parts_done[part] = n_done
        self._came_at = self._clock()
        self._speed.add(n_bytes, self._came_at)
        self.show(DownloadStatus.RUNNING)

    def show(
        self, status: DownloadStatus, *, reason: str | None = None, retry_in_s: float | None = None
    ) -> None:
        """Report, unless it was done a moment ago: whoever waits shows it again soon."""
        now = self._clock()
        if now - self._reported_at < INTERVAL_S:
            return
        self._reported_at = now
        done = self._done()
        comes = status is DownloadStatus.RUNNING and now - self._came_at < QUIET_S
        rate = self._speed.bytes_per_second(now) if comes else None
        left = (self._model.size - sum(self.parts_done)) / rate if rate else None
        self._report(
            DownloadState(
                self._model,
                status,
                done,
                bytes_per_second=rate,
                seconds_left=left,
                reason=reason,
                retry_in_s=retry_in_s,
            )
        )

    def show_done(self, path: Path) -> None:
        """The last report, never left out."""
        self._report(DownloadState(self._model, DownloadStatus.DONE, self._model.size, path=path))

    def _done(self) -> int:
        self._most_done = max(self._most_done, min(sum(self.parts_done), self._model.size))
        return self._most_done
