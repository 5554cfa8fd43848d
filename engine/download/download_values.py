"""What a download is and how far it has come: values that cross threads, and are shown."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RemoteModel


class DownloadStatus(enum.StrEnum):
    """What a download does now."""

    QUEUED = "queued"  # waits for its turn
    CHECKING = "checking"  # reads what an earlier run has kept
    RUNNING = "running"
    STALLED = "stalled"  # connected, but nothing has come for a while; it goes on by itself
    WAITING = "waiting"  # the server or the network failed; it is tried again by itself
    ELSEWHERE = "elsewhere"  # another window or command of Weir downloads it
    PAUSED = "paused"  # by the user
    FAILED = "failed"  # only the user can do something about it; what was fetched is kept
    DONE = "done"
    CANCELLED = "cancelled"  # by the user, who may still want it back; a queue never says so


@dataclass(frozen=True, slots=True)
class DownloadState:
    """One download at one moment.

    `done_bytes` never falls and never exceeds `total_bytes`. `bytes_per_second` is that of the last seconds,
    None while nothing was measured; `seconds_left` follows from it. `reason` is a sentence: why it waits, or
    has failed; `retry_in_s` when it is tried again. `path` is the first file in its final place, once `DONE`.
    `remedies` say what helps once it has `FAILED`, the likeliest first; `page` is where terms are accepted.
    """

    model: RemoteModel
    status: DownloadStatus
    done_bytes: int = 0
    bytes_per_second: float | None = None
    seconds_left: float | None = None
    reason: str | None = None
    retry_in_s: float | None = None
    path: Path | None = None
    remedies: tuple[Remedy, ...] = ()
    page: str | None = None

    @property
    def id(self) -> str:
        """The model's."""
        return self.model.id

    @property
    def total_bytes(self) -> int:
        """Of all parts."""
        return self.model.size
