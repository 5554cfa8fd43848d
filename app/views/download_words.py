"""Downloads in words.

`DownloadState`s go in, short texts come out. Sizes are in units of a thousand, as the Hub has them. Knows
nothing about widgets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.views import number_format
from app.views.library_words import SEPARATOR
from engine.download.download_values import DownloadState, DownloadStatus
from engine.hub.hub_errors import Remedy
from engine.models.byte_reader import shown
from engine.models.model_parts import PART_NAME


def name(state: DownloadState) -> str:
    """What the model is called: its file's name."""
    file = state.model.parts[0].path.rpartition("/")[2]
    part = PART_NAME.fullmatch(file)
    return shown(part["prefix"] if part else file.removesuffix(".gguf"))


def repository(state: DownloadState) -> str:
    """Where it comes from."""
    return shown(state.model.repo_id)


def status_in_words(state: DownloadState) -> str:
    """What it does now."""
    if state.status is DownloadStatus.WAITING:
        return _waiting(state.retry_in_s)
    if state.status is DownloadStatus.DONE and _is_verified(state):
        return _tr("Downloaded and verified")
    return {
        DownloadStatus.QUEUED: _tr("In line"),
        DownloadStatus.CHECKING: _tr("Checking what was kept"),
        DownloadStatus.RUNNING: _tr("Downloading"),
        DownloadStatus.STALLED: _tr("Nothing comes; it goes on by itself"),
        DownloadStatus.ELSEWHERE: _tr("Downloads in another Weir"),
        DownloadStatus.PAUSED: _tr("Paused"),
        DownloadStatus.FAILED: _tr("Stopped"),
        DownloadStatus.DONE: _tr("Downloaded"),
        DownloadStatus.CANCELLED: _tr("Cancelled; what was fetched is deleted in a few seconds"),
    }[state.status]


def amount(state: DownloadState) -> str:
    """How much of how much has come."""
    if state.status is DownloadStatus.DONE:
        return size(state.total_bytes)
    return part(state.done_bytes, state.total_bytes)


def figures(state: DownloadState) -> str:
    """All numbers on one line."""
    parts = [status_in_words(state), amount(state)]
    if state.status is DownloadStatus.RUNNING:
        if state.bytes_per_second is not None:
            parts.append(_tr("{0}/s").format(size(round(state.bytes_per_second))))
        if state.seconds_left is not None:
            parts.append(_tr("{0} left").format(number_format.duration(state.seconds_left)))
    return SEPARATOR.join(parts)


def reason(state: DownloadState) -> str:
    """Why it waits or has failed; empty while all is as it should be."""
    speaks = state.status in (DownloadStatus.WAITING, DownloadStatus.FAILED)
    return (state.reason or "") if speaks else ""


def all_in_words(state: DownloadState) -> str:
    """A whole row, for screen readers."""
    parts = (name(state), repository(state), figures(state).replace(SEPARATOR, ", "), reason(state))
    return ", ".join(part for part in parts if part)


def remedy_in_words(remedy: Remedy) -> str:
    """What stands on the button."""
    match remedy:
        case Remedy.ACCEPT_TERMS:
            return _tr("Read the terms")
        case Remedy.ENTER_TOKEN:
            return _tr("Enter a token")
        case Remedy.TRY_WITHOUT_TOKEN:
            return _tr("Try without the token")
        case Remedy.TRY_AGAIN:
            return _tr("Try again")


def size(n_bytes: int) -> str:
    """As in "1.2 GB"."""
    unit, divisor = _unit(n_bytes)
    return f"{_number(n_bytes / divisor)} {unit}"


def part(done: int, total: int) -> str:
    """As in "1.2 of 4.5 GB", in the unit of the total."""
    unit, divisor = _unit(total)
    # Rounded down: what is not all there must not read as if it were.
    share = min(done, total) / divisor
    if done >= total:
        return _tr("{0} of {1} {2}").format(_number(total / divisor), _number(total / divisor), unit)
    shown_share = int(share * 10) / 10 if share < 100 else int(share)
    return _tr("{0} of {1} {2}").format(_number(shown_share), _number(total / divisor), unit)


def _unit(n_bytes: int) -> tuple[str, float]:
    if n_bytes >= 1e9:
        return "GB", 1e9
    return ("MB", 1e6) if n_bytes >= 1e6 else ("KB", 1e3)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _waiting(retry_in_s: float | None) -> str:
    if retry_in_s is None:
        return _tr("Waits, then tries again")
    return _tr("Tries again in {0}").format(number_format.duration(max(1.0, retry_in_s)))


def _is_verified(state: DownloadState) -> bool:
    return all(part.sha256 is not None for part in state.model.parts)


def _tr(text: str) -> str:
    return QCoreApplication.translate("DownloadWords", text)
