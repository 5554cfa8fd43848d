"""Whether one more download fits on the disk beside all that others still need there.

Models in, a refusal in words out. Nothing is reserved on the disk: what is counted is what is still to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.download.model_download import kept_bytes
from engine.download.queue_entry import Failure, failure_of, space_failure
from engine.download.space import missing_bytes
from engine.errors import DownloadError
from engine.hub.hub_values import RemoteModel


def refusal(model: RemoteModel, others: Sequence[RemoteModel], folder: Path) -> Failure | None:
    """Why `model` cannot come into the models `folder` beside `others`; None if it can."""
    try:
        own, beside = needed_bytes(model, folder), sum(needed_bytes(other, folder) for other in others)
        missing = missing_bytes(own + beside, folder)
    except DownloadError as error:
        return failure_of(error)
    except OSError:  # the download itself will say what is wrong with the disk
        return None
    name = model.parts[0].path.rpartition("/")[2]
    has_kept = own < model.size
    return space_failure(name, missing, beside, has_kept=has_kept) if own and missing > 0 else None


def needed_bytes(model: RemoteModel, folder: Path) -> int:
    """What is still to come of `model`. Raises UnsafeName."""
    return max(0, model.size - kept_bytes(model, folder))
