"""The folder of one unfinished download, and the lock that keeps it to one process.

`.downloads/<job>/` in the models folder; the job is named by the model, whatever its revision. A process that
is killed loses its lock and leaves its folder.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from engine.download.download_errors import AlreadyDownloading
from engine.download.names import DOWNLOADS_FOLDER
from engine.download.partial import write_error
from engine.hub.hub_values import RemoteModel

ORIGINS_LOCK_S = 20.0


def job_folder(model: RemoteModel, folder: Path) -> Path:
    """Where the partial files of `model` lie; it need not be there."""
    name = hashlib.sha256(model.id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return folder / DOWNLOADS_FOLDER / name


@contextmanager
def locked_job(model: RemoteModel, folder: Path) -> Iterator[Path]:
    """The job's folder, for this process alone. Raises AlreadyDownloading, or CannotWrite."""
    job = job_folder(model, folder)
    name = model.parts[0].path
    lock = FileLock(job.with_name(job.name + ".lock"))
    try:
        job.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        raise AlreadyDownloading(name) from None
    except OSError as error:
        raise write_error(error, folder, name, model.size, has_kept=False) from None
    try:
        yield job
    finally:
        lock.release()


@contextmanager
def locked_origins(folder: Path) -> Iterator[None]:
    """Two downloads of one repository that end at once both record where they came from."""
    with FileLock(folder / DOWNLOADS_FOLDER / "origins.lock", timeout=ORIGINS_LOCK_S):
        yield


def remove_job(job: Path) -> None:
    """Delete the job's folder and its lock, which is held; what cannot be deleted now harms nobody."""
    shutil.rmtree(job, ignore_errors=True)
    with suppress(OSError):  # Windows refuses while it is open
        job.with_name(job.name + ".lock").unlink()
