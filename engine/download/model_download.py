"""A model of the Hub in, its verified files in the models folder out.

    names -> job (lock) -> space -> each part: partial, part_download, transfer, connection -> placing, origin

Nothing is at a final name before all parts have the right size and hash. What was fetched stays for the next
time, whatever ends this one. Which models to fetch, and how many at once, is not decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.download.access import PATIENCE, Access, Patience, Report, Stop
from engine.download.download_errors import DiskFull, DownloadStopped, PartsMissing
from engine.download.job import job_folder, locked_job, remove_job
from engine.download.names import final_paths
from engine.download.part_download import PartDownload, checking
from engine.download.partial import Partial, kept_size, write_error
from engine.download.placing import is_in_place, place
from engine.download.progress import Progress
from engine.download.space import missing_bytes
from engine.hub.hub_values import RemoteModel


def download_model(
    access: Access,
    model: RemoteModel,
    folder: Path,
    *,
    report: Report,
    stop: Stop,
    patience: Patience = PATIENCE,
) -> Path:
    """Fetch all parts of `model` into the models `folder` and return the first one's final path.

    Goes on with what an earlier run has kept; returns at once if the model is there. `report` is called from
    this thread at most ten times a second, and once more with DONE. Returns only when size and hash of every
    part agree. Raises DownloadStopped within a moment after `stop` is set (what was fetched is kept), and
    other DownloadErrors of `engine.download.download_errors` where only a person can do something; network
    faults are waited out.
    """
    if model.missing:
        raise PartsMissing(model.repo_id, model.missing)
    finals = final_paths(model, folder)
    with locked_job(model, folder) as job:
        progress = Progress(model, report)
        progress.parts_done = [kept_size(job, number, model) for number in range(len(model.parts))]
        try:
            job.mkdir(exist_ok=True)
            _Download(
                access, model, job=job, finals=finals, progress=progress, stop=stop, patience=patience
            ).run(folder)
        except OSError as error:
            n_kept = sum(progress.parts_done)
            name, n_left = model.parts[0].path, model.size - n_kept
            raise write_error(error, folder, name, n_left, has_kept=n_kept > 0) from None
        remove_job(job)
    progress.show_done(finals[0])
    return finals[0]


def kept_bytes(model: RemoteModel, folder: Path) -> int:
    """How many bytes of an unfinished `model` are on the disk, in partial files or in their place.

    Raises UnsafeName. Nothing is checked but sizes.
    """
    job = job_folder(model, folder)
    total = 0
    for number, final in enumerate(final_paths(model, folder)):
        try:
            is_there = final.stat().st_size == model.parts[number].size
        except OSError:
            is_there = False
        total += model.parts[number].size if is_there else kept_size(job, number, model)
    return total


def discard_download(model: RemoteModel, folder: Path) -> None:
    """Delete what an unfinished download of `model` has kept. Raises AlreadyDownloading while one runs."""
    if job_folder(model, folder).parent.is_dir():
        with locked_job(model, folder) as job:
            remove_job(job)


class _Download:
    """One run over all parts."""

    def __init__(
        self,
        access: Access,
        model: RemoteModel,
        *,
        job: Path,
        finals: Sequence[Path],
        progress: Progress,
        stop: Stop,
        patience: Patience,
    ) -> None:
        self._access = access
        self._model = model
        self._job = job
        self._finals = finals
        self._progress = progress
        self._stop = stop
        self._patience = patience

    def run(self, folder: Path) -> None:
        """Fetch what is not in place, then move it there."""
        in_place = [self._is_in_place(number) for number in range(len(self._finals))]
        self._check_space()
        partials = [None if there else self._fetch(number) for number, there in enumerate(in_place)]
        if self._stop.is_set():
            raise DownloadStopped
        place(self._model, self._finals, partials, folder)

    def _is_in_place(self, number: int) -> bool:
        part = self._model.parts[number]
        read = checking(self._progress, self._stop, part.size)
        there = is_in_place(self._model, part, self._finals[number], read)
        if there:
            self._progress.parts_done[number] = part.size
        return there

    def _check_space(self) -> None:
        """Before a byte is fetched; a disk that fills up later is told where it happens."""
        n_kept = sum(self._progress.parts_done)
        missing = missing_bytes(self._model.size - n_kept, self._job)
        if missing > 0:
            raise DiskFull(self._finals[0].name, missing, has_kept=n_kept > 0)

    def _fetch(self, number: int) -> Path:
        """The partial file of a part, whole and right, and on the disk."""
        partial = Partial(self._job, number, self._model)
        try:
            PartDownload(
                self._access,
                self._model,
                number,
                progress=self._progress,
                stop=self._stop,
                patience=self._patience,
            ).run(partial)
            partial.sync()
        finally:
            partial.close()
        return partial.path
