"""What can be done with a download that has come to rest, and where it stands in the list.

`DownloadState`s go in. Knows nothing about queues.
"""

from __future__ import annotations

from engine.download.download_values import DownloadState, DownloadStatus
from engine.hub.hub_errors import Remedy

_LAST = {DownloadStatus.FAILED: 1, DownloadStatus.DONE: 2}


def can_resume(state: DownloadState) -> bool:
    """Whether there is a sense in trying again."""
    if state.status is DownloadStatus.FAILED:
        return Remedy.TRY_AGAIN in state.remedies
    return state.status is DownloadStatus.PAUSED


def can_clear(state: DownloadState) -> bool:
    """Whether nothing is lost if it is not listed any more."""
    return state.status is DownloadStatus.DONE or (
        state.status is DownloadStatus.FAILED and not state.done_bytes
    )


def rank(state: DownloadState) -> int:
    """Lower for what stands further up: first what goes on or can, last what is done."""
    return _LAST.get(state.status, 0)
