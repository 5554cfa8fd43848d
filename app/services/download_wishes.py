"""What the window asks of a queue of downloads, wherever it runs.

The protocol that `QueueClient` and `DownloadQueue` fulfil. Nothing here downloads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from engine.download.download_values import DownloadState
from engine.hub.hub_values import RemoteModel


class Queue(Protocol):
    """What the window needs of a `QueueClient`; each method returns at once."""

    def states(self) -> tuple[DownloadState, ...]:
        """All downloads in order."""

    def add(self, model: RemoteModel, *, without_token: bool = False) -> str:
        """Line `model` up."""

    def pause(self, id_: str) -> None:
        """Stop one; what was fetched is kept."""

    def resume(self, id_: str) -> None:
        """Line up again what is paused or has failed."""

    def retry(self, id_: str, *, without_token: bool = False) -> None:
        """As `resume`."""

    def cancel(self, id_: str) -> None:
        """Forget one and delete what was fetched."""

    def move(self, id_: str, step: int) -> None:
        """Move one."""

    def clear_finished(self) -> None:
        """Forget those that are done, or have failed with nothing fetched."""

    def set_parallel(self, parallel: int) -> None:
        """So many at once."""

    def close(self) -> None:
        """End."""


MakeQueue = Callable[[Callable[[], None]], Queue]
