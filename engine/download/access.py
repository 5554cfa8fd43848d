"""What a download asks of its surroundings: where bytes are, when to stop, whom to tell, how patient to be.

`engine.hub.hub.Hub` is an `Access`; whoever drives a download gives the rest. Nothing here connects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.download.download_values import DownloadState
from engine.hub.file_address import FileAddress
from engine.hub.hub_values import RemoteModel, RemotePart

Report = Callable[[DownloadState], None]


class Access(Protocol):
    """Knows where the Hub is and whether there is a token."""

    def page(self, repo_id: str) -> str:
        """The address of the repository's page, where a person accepts its terms."""

    def address(self, model: RemoteModel, part: RemotePart) -> FileAddress:
        """Where `part` is fetched from; asked anew for each attempt, so that a new token counts at once."""


class Stop(Protocol):
    """What `threading.Event` offers; set by whoever pauses or cancels."""

    def is_set(self) -> bool:
        """Whether to end."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds; whether to end."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds."""

    connect_s: float = 10.0  # for each address of a host
    stalled_s: float = 8.0  # of silence are told as STALLED
    reconnect_s: float = 20.0  # of silence end a connection
    first_delay_s: float = 1.0  # doubled with each failure in a row
    longest_delay_s: float = 60.0


PATIENCE = Patience()
