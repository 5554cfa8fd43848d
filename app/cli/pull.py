"""`weir pull`: one model from Hugging Face into the folder of models, by words or by the address of its page.

In: `PullOptions`. Out: the path of the model on standard output, progress on standard error, or JSON lines,
the last of which has the path or the reason why there is none; and an exit status: 1 where the Hub or the
disk refused, or what came is no model that Weir can load, 2 for words that name no repository, 130 after
Ctrl+C, which keeps what was fetched. A second Ctrl+C ends at once. A window that is open shows the download
as running elsewhere, and an unfinished one in its list.
"""

from __future__ import annotations

import threading
from pathlib import Path

from app.cli.interrupts import INTERRUPTED, first_interrupt_calls
from app.cli.pull_arguments import PullOptions
from app.cli.pull_output import PullOutput, amount
from app.data.message_text import clean_text
from app.data.paths import data_dir, models_dir
from engine.download.access import Report
from engine.download.download_errors import DownloadStopped
from engine.download.download_values import DownloadState
from engine.download.model_download import download_model, kept_bytes
from engine.download.noted_download import noted_download
from engine.errors import BadRequest, KnownError
from engine.hub.file_choice import FileChoice, choose, read_choice
from engine.hub.hub import Hub
from engine.hub.hub_errors import HubCancelled, TokenRejected
from engine.hub.hub_values import RemoteModel
from engine.hub.token_store import TokenStore
from engine.models.library_scan import scan_file


def run_pull(options: PullOptions) -> int:
    """Download one model; returns the exit status."""
    output = PullOutput(as_json=options.as_json)
    stop = threading.Event()
    try:
        choice = read_choice(options.model)
    except BadRequest as error:
        output.show_end("failed", str(error))
        return 2
    with first_interrupt_calls(stop.set):
        try:
            return _pull(options, choice, output, stop)
        except (HubCancelled, KeyboardInterrupt):
            output.show_end("stopped", "Stopped.")
            return INTERRUPTED
        except KnownError as error:
            output.show_end("failed", str(error))
            return 1


def _pull(options: PullOptions, choice: FileChoice, output: PullOutput, stop: threading.Event) -> int:
    hub = Hub() if options.without_token else Hub(token=TokenStore(data_dir()).token)
    try:
        details = hub.details(choice.repo_id, choice.revision, cancel=stop)
    except TokenRejected as error:
        hub = hub.without_token()
        details = hub.details(choice.repo_id, choice.revision, cancel=stop)
        output.note(f"{error} This download is made without it.")
    model = choose(details, choice.wanted)
    folder = Path(options.to).expanduser().absolute() if options.to else models_dir()
    reader = _Reader(output, stop)
    try:
        path = _download(hub, model, folder, reader.show, stop=stop, is_own=options.to is None)
    except DownloadStopped:
        if reader.fault is not None:
            raise reader.fault from None
        output.show_end("stopped", _stopped_in_words(model, folder))
        return INTERRUPTED
    return _show_model(path, output)


def _stopped_in_words(model: RemoteModel, folder: Path) -> str:
    kept = kept_bytes(model, folder)
    if not kept:
        return "Stopped. Nothing was fetched."
    return f"Stopped. {amount(kept, model.size)} are kept: the same command goes on from there."


def _show_model(path: Path, output: PullOutput) -> int:
    """A file may be whole and right, and still be a web page, or a model of a kind that cannot chat."""
    found = scan_file(path, {})
    if found.is_chat_model:
        output.show_path(path)
        return 0
    words = f"{clean_text(str(path))} was downloaded and verified, but it is no model that Weir can load"
    words += f": {found.reason}" if found.reason else "."
    output.show_end("failed", words, path)
    return 1


class _Reader:
    """Whoever reads the output: one that leaves ends the download, and is no fault of the disk."""

    def __init__(self, output: PullOutput, stop: threading.Event) -> None:
        self.fault: OSError | None = None
        self._output = output
        self._stop = stop

    def show(self, state: DownloadState) -> None:
        """As `PullOutput.show`, but it does not raise."""
        try:
            self._output.show(state)
        except OSError as fault:
            self.fault = fault
            self._stop.set()


def _download(
    hub: Hub, model: RemoteModel, folder: Path, report: Report, *, stop: threading.Event, is_own: bool
) -> Path:
    # Only of Weir's own folder does a window show the downloads.
    download = noted_download if is_own else download_model
    return download(hub, model, folder, report=report, stop=stop)
