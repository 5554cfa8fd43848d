"""One download of the queue: what was told of it last, and the thread that runs it.

The status in `state` is also what is wished: whoever pauses sets PAUSED at once, and the thread ends a
moment later. Nothing here has a lock; see `engine.download.queue_board`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from engine.download.download_errors import (
    DiskFull,
    PartsMissing,
    RefusedByHub,
    UnsafeName,
    missing_in_words,
    what_is_kept,
)
from engine.download.download_values import DownloadState, DownloadStatus
from engine.errors import DownloadError
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RemoteModel
from engine.models.byte_reader import shown


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a download ended and what helps; `page` is where terms are accepted."""

    reason: str
    remedies: tuple[Remedy, ...] = (Remedy.TRY_AGAIN,)
    page: str | None = None


@dataclass(eq=False, slots=True)
class Run:
    """One thread that downloads. `holds_slot`: it may connect; `at_gate`: it waits until it may."""

    model: RemoteModel
    stop: threading.Event = field(default_factory=threading.Event)
    holds_slot: bool = True
    at_gate: bool = False
    thread: threading.Thread | None = None


@dataclass(eq=False, slots=True)
class Entry:
    """`has_room`: the space that it still needs was found on the disk."""

    model: RemoteModel
    state: DownloadState
    without_token: bool = False
    has_room: bool = False
    run: Run | None = None

    @property
    def id(self) -> str:
        """The model's."""
        return self.model.id

    @property
    def status(self) -> DownloadStatus:
        """What it does now, and is wished to do."""
        return self.state.status

    @property
    def failure(self) -> Failure | None:
        """Why it has failed; None if it has not."""
        if self.status is not DownloadStatus.FAILED:
            return None
        return Failure(self.state.reason or "", self.state.remedies, self.state.page)

    def show(
        self,
        status: DownloadStatus,
        *,
        done_bytes: int | None = None,
        reason: str | None = None,
        failure: Failure | None = None,
    ) -> None:
        """Be `status` from now on; what is not given is as it was, or nothing."""
        done = self.state.done_bytes if done_bytes is None else min(done_bytes, self.model.size)
        self.state = DownloadState(
            self.model,
            status,
            done,
            reason=failure.reason if failure else reason,
            remedies=failure.remedies if failure else (),
            page=failure.page if failure else None,
        )


def failure_of(error: DownloadError) -> Failure:
    """What is shown of an error that ended a download."""
    match error:
        case RefusedByHub():
            # Whatever was done about it outside of Weir, only another try tells.
            remedies = tuple(dict.fromkeys((*error.remedies, Remedy.TRY_AGAIN)))
            return Failure(str(error), remedies, error.failure.url)
        case UnsafeName() | PartsMissing():
            return Failure(str(error), ())
        case _:
            return Failure(str(error))


def space_failure(name: str, missing_bytes: int, others_bytes: int, *, has_kept: bool) -> Failure:
    """`missing_bytes` are missing for `name`, once the others have got the `others_bytes` that they need."""
    if not others_bytes:
        return Failure(str(DiskFull(name, missing_bytes, has_kept=has_kept)))
    return Failure(
        f"The disk has too little space for {shown(name)} beside the other downloads, which still need "
        f"{others_bytes / 1e9:,.2f} GB: {missing_in_words(missing_bytes)}. {what_is_kept(has_kept)}: "
        "free some space or cancel another download, then try again."
    )
