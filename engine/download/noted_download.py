"""One download without a queue, as from the terminal, that queues of other processes know of.

While it runs, a window shows it as running elsewhere; what it leaves unfinished stands in the queue of the
next window: paused if it was stopped, with its reason if it failed, and gone on with if it was killed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from engine.download.access import PATIENCE, Access, Patience, Report, Stop
from engine.download.download_errors import AlreadyDownloading, DownloadStopped
from engine.download.model_download import download_model
from engine.download.queue_entry import failure_of
from engine.download.queue_file import QueueFile, StoredDownload
from engine.errors import DownloadError
from engine.hub.hub_values import RemoteModel


def noted_download(
    access: Access,
    model: RemoteModel,
    folder: Path,
    *,
    report: Report,
    stop: Stop,
    patience: Patience = PATIENCE,
) -> Path:
    """As `download_model`, which see, noted in the queue's file of `folder` as long as it is unfinished."""
    file = QueueFile(folder)
    _note(file, StoredDownload(model))
    try:
        path = download_model(access, model, folder, report=report, stop=stop, patience=patience)
    except AlreadyDownloading:
        raise
    except (DownloadStopped, KeyboardInterrupt):
        _note(file, StoredDownload(model, paused=True))
        raise
    except DownloadError as error:
        _note(file, StoredDownload(model, failure=failure_of(error)))
        raise
    with suppress(OSError):
        file.update((), gone={model.id})
    return path


def _note(file: QueueFile, item: StoredDownload) -> None:
    # A queue that cannot be written is no reason not to download; the partial files say enough.
    with suppress(OSError):
        file.update((item,))
