"""One part until it is right: attempts, the waits between them, and the check of what came.

Gives up only where trying again would change nothing; says meanwhile what it waits for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from engine.download.access import Access, Patience, Stop
from engine.download.download_errors import DownloadStopped, WrongContent
from engine.download.download_values import DownloadStatus
from engine.download.partial import Partial
from engine.download.progress import INTERVAL_S, Progress
from engine.download.retry import BackOff, Interrupted, WrongBytes
from engine.download.transfer import fetch
from engine.hub.hub_values import RemoteModel
from engine.hub.refusals import Asked

WORTH_BYTES = 1 << 16  # an attempt that brought less counts as a failure like the one before it


class PartDownload:
    """Fetches part `number` of `model`; what it has is told to `progress`."""

    def __init__(
        self,
        access: Access,
        model: RemoteModel,
        number: int,
        *,
        progress: Progress,
        stop: Stop,
        patience: Patience,
    ) -> None:
        self._access = access
        self._model = model
        self._number = number
        self._progress = progress
        self._stop = stop
        self._patience = patience
        self._back_off = BackOff(patience)
        self._by_range = True
        self._has_failed = False

    def run(self, partial: Partial) -> None:
        """Fill `partial` and check it.

        Raises DownloadStopped, RefusedByHub, DiskFull, CannotWrite, or WrongContent, which keeps nothing.
        """
        self._check_kept(partial)
        n_wrong = 0
        while True:
            n_before = partial.size
            try:
                if not partial.is_full:
                    self._attempt(partial)
                if partial.is_right():
                    return
                raise WrongBytes("its SHA-256 differs")
            except WrongBytes as wrong:
                n_wrong += 1
                partial.start_anew()
                if n_wrong == 2:
                    raise WrongContent(partial.part.path, wrong.cause) from None
                self._wait(Interrupted(f"It came with the wrong content ({wrong.cause}).", at_once=True))
            except Interrupted as failure:
                if partial.size - n_before >= WORTH_BYTES:
                    self._back_off.succeeded()
                self._by_range = not failure.without_range
                self._has_failed = True
                self._wait(failure)

    def _check_kept(self, partial: Partial) -> None:
        if partial.size == 0:
            return
        self._progress.parts_done[self._number] = partial.size
        partial.hash_kept(checking(self._progress, self._stop, partial.size))
        self._progress.start_fetching()

    def _attempt(self, partial: Partial) -> None:
        address = self._access.address(self._model, partial.part)
        repo_id = self._model.repo_id
        asked = Asked(
            host=urlsplit(address.url).hostname or "",
            repo_id=repo_id,
            page=self._access.page(repo_id),
            with_token=address.token is not None,
        )
        watch = _Watch(
            partial,
            self._number,
            self._progress,
            self._stop,
            self._patience,
            reconnects=self._has_failed,
        )
        fetch(
            address,
            asked,
            partial,
            by_range=self._by_range,
            connect_s=self._patience.connect_s,
            watch=watch,
        )

    def _wait(self, failure: Interrupted) -> None:
        """Wait as long as `failure` asks for; raises DownloadStopped."""
        end = time.monotonic() + self._back_off.after(failure)
        while (left := end - time.monotonic()) > 0:
            self._progress.show(DownloadStatus.WAITING, reason=failure.reason, retry_in_s=left)
            if self._stop.wait(min(left, 2 * INTERVAL_S)):
                break
        if self._stop.is_set():
            raise DownloadStopped


class _Watch:
    """Looks after one attempt: progress, Stop and silence.

    One that `reconnects` is no download before its first byte.
    """

    def __init__(
        self,
        partial: Partial,
        number: int,
        progress: Progress,
        stop: Stop,
        patience: Patience,
        *,
        reconnects: bool,
    ) -> None:
        self._partial = partial
        self._number = number
        self._progress = progress
        self._stop = stop
        self._patience = patience
        self._reconnects = reconnects
        self._last_came = time.monotonic()

    def came(self, n_bytes: int) -> None:
        self._last_came = time.monotonic()
        self._reconnects = False
        self._progress.arrived(self._number, n_bytes, self._partial.size)
        if self._stop.is_set():
            raise DownloadStopped

    def waits(self) -> None:
        if self._stop.is_set():
            raise DownloadStopped
        silent_s = time.monotonic() - self._last_came
        if silent_s >= self._patience.reconnect_s:
            raise Interrupted(f"Nothing came for {silent_s:,.0f} seconds.", at_once=True)
        reason = "Connecting again." if self._reconnects else None
        if silent_s >= self._patience.stalled_s:
            reason = f"Nothing has come for {silent_s:,.0f} seconds."
        is_stalled = reason is not None
        self._progress.show(DownloadStatus.STALLED if is_stalled else DownloadStatus.RUNNING, reason=reason)


def checking(progress: Progress, stop: Stop, n_total: int) -> Callable[[int], None]:
    """What to call with the number of bytes that were read of `n_total` to check; raises DownloadStopped."""

    def read(n_bytes: int) -> None:
        if stop.is_set():
            raise DownloadStopped
        reason = f"Checking what was kept: {n_bytes / n_total:.0%}."
        progress.show(DownloadStatus.CHECKING, reason=reason)

    return read
