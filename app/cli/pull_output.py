"""What `weir pull` shows: a bar on a terminal, a line now and then elsewhere, or JSON lines for programs.

`DownloadState`s and the path go in. Out: the path (or JSON lines, strict and in ASCII) on standard output,
everything else on standard error. Knows nothing about downloads.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from engine.download.download_values import DownloadState, DownloadStatus
from engine.models.byte_reader import shown

LINE_S = 5.0
"""Between two lines; a tenth of the whole or another status is told at once."""

_BAR = 20
_UNITS = (("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("bytes", 1))
_WORDS = {
    DownloadStatus.QUEUED: "in line",
    DownloadStatus.CHECKING: "checking what was kept",
    DownloadStatus.STALLED: "nothing comes",
    DownloadStatus.WAITING: "waiting",
}


class PullOutput:
    """Shows one download."""

    def __init__(
        self,
        *,
        as_json: bool,
        out: TextIO | None = None,
        err: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._as_json = as_json
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._is_terminal = self._err.isatty() and not as_json
        self._clock = clock
        self._told_at = float("-inf")
        self._told: tuple[DownloadStatus, int] | None = None
        self._width = 0

    def show(self, state: DownloadState) -> None:
        """Show it, if it is time to."""
        if self._is_terminal:
            self._rewrite(_bar(state))
        elif self._is_due(state):
            self._print_json(_json_fields(state)) if self._as_json else self.note(_line(state))

    def note(self, sentence: str) -> None:
        """Write a sentence on a line of its own."""
        self.clear()
        print(f"weir: {sentence}", file=self._err, flush=True)

    def show_end(self, status: str, reason: str, path: Path | None = None) -> None:
        """It ended without a model that can be used; `path` is where the file lies all the same."""
        self.note(reason)
        if self._as_json:
            fields: dict[str, object] = {"status": status, "reason": reason}
            self._print_json(fields if path is None else {**fields, "path": str(path)})

    def show_path(self, path: Path) -> None:
        """All is done."""
        self.clear()
        if self._as_json:
            self._print_json({"path": str(path)})
        else:
            print(path, file=self._out, flush=True)

    def clear(self) -> None:
        """Take the line that is overwritten away."""
        if self._width:
            self._err.write("\r" + " " * self._width + "\r")
            self._err.flush()
            self._width = 0

    def _is_due(self, state: DownloadState) -> bool:
        tenths = state.done_bytes * 10 // state.total_bytes if state.total_bytes else 10
        now = self._clock()
        if (state.status, tenths) == self._told and now - self._told_at < LINE_S:
            return False
        self._told, self._told_at = (state.status, tenths), now
        return True

    def _print_json(self, fields: dict[str, object]) -> None:
        print(json.dumps(fields, allow_nan=False), file=self._out, flush=True)

    def _rewrite(self, line: str) -> None:
        line = line[: max(10, shutil.get_terminal_size().columns - 1)]
        self._err.write("\r" + line.ljust(self._width))
        self._err.flush()
        self._width = len(line)


def amount(done: int, total: int) -> str:
    """As in "1.2 of 4.5 GB"; what is not all there does not read as if it were, what is all there does."""
    unit, divisor = next((unit for unit in _UNITS if total >= unit[1]), _UNITS[-1])
    if unit == "bytes":
        return f"{min(done, total)} of {total} bytes"
    share = total / divisor if done >= total else int(done / divisor * 10) / 10
    return f"{share:,.1f} of {total / divisor:,.1f} {unit}"


def _json_fields(state: DownloadState) -> dict[str, object]:
    return {
        "status": str(state.status),
        "done_bytes": state.done_bytes,
        "total_bytes": state.total_bytes,
        "bytes_per_second": state.bytes_per_second,
        "seconds_left": state.seconds_left,
        "reason": state.reason,
    }


def _bar(state: DownloadState) -> str:
    part = state.done_bytes / state.total_bytes if state.total_bytes else 1.0
    filled = int(part * _BAR)
    return f"[{'#' * filled}{'-' * (_BAR - filled)}] {int(part * 100):3d} %  {_line(state)}"


def _line(state: DownloadState) -> str:
    parts = [amount(state.done_bytes, state.total_bytes)]
    if state.bytes_per_second is not None:
        parts.append(_speed(state.bytes_per_second))
    if state.seconds_left is not None:
        parts.append(f"{_duration(state.seconds_left)} left")
    if words := _WORDS.get(state.status):
        parts.append(words)
    if state.status is DownloadStatus.WAITING and state.retry_in_s is not None:
        parts.append(f"tries again in {state.retry_in_s:,.0f} s")
    reason = state.reason if state.status in (DownloadStatus.WAITING, DownloadStatus.STALLED) else None
    return ", ".join(parts) + (f" ({shown(reason)})" if reason else "")


def _speed(bytes_per_second: float) -> str:
    unit, divisor = ("MB", 1e6) if bytes_per_second >= 1e6 else ("KB", 1e3)
    return f"{bytes_per_second / divisor:,.1f} {unit}/s"


def _duration(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 100 else f"{seconds / 60:,.0f} min"
