"""One download without a queue, as from the terminal, that queues of other processes know of.

While it runs, a window shows it as running elsewhere; what it leaves unfinished stands in the queue of the
next window: paused if it was stopped, with its reason if it failed, and gone on with if it was killed. What
ends before a byte has come leaves nothing that was not there before.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from engine.download.access import PATIENCE, Access, Patience, Report, Stop
from engine.download.download_errors import AlreadyDownloading, DownloadStopped
from engine.download.model_download import discard_download, download_model, kept_bytes
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
    before = next((item for item in file.read() or () if item.id == model.id), None)
    _note(file, StoredDownload(model))
    try:
        path = download_model(access, model, folder, report=report, stop=stop, patience=patience)
    except AlreadyDownloading:
        raise
    except (DownloadStopped, KeyboardInterrupt):
        _note_end(file, StoredDownload(model, paused=True), before, folder)
        raise
    except DownloadError as error:
        _note_end(file, StoredDownload(model, failure=failure_of(error)), before, folder)
        raise
    with suppress(OSError):
        file.update((), gone={model.id})
    return path


def _note_end(file: QueueFile, item: StoredDownload, before: StoredDownload | None, folder: Path) -> None:
    with suppress(DownloadError, OSError):
        if before is not None or kept_bytes(item.model, folder):
            _note(file, item)
            return
    # Nothing to go on with, or a name that can never be written.
    with suppress(DownloadError, OSError):
        discard_download(item.model, folder)
    with suppress(OSError):
        file.update((), gone={item.id})


def _note(file: QueueFile, item: StoredDownload) -> None:
    # A queue that cannot be written is no reason not to download; the partial files say enough.
    with suppress(OSError):
        file.update((item,))
