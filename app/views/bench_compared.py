"""Results with the name of the run that each belongs to, so that equal tests of two runs can be told apart.

Stored results and all runs go in, `Compared`s come out. Promises that two runs never have the same name.
Knows nothing about widgets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale

from app.data.bench_record import BenchRecord
from app.data.bench_store import StoredResult, StoredRun


@dataclass(frozen=True, slots=True)
class Compared:
    """`run`: what the run is called, empty where there is only one that it could be."""

    record: BenchRecord
    run: str = ""


def compared(results: Sequence[StoredResult], runs: Sequence[StoredRun]) -> list[Compared]:
    """`results` with the names of those of `runs` that they belong to."""
    names = {
        result.id: name for run, name in zip(runs, run_names(runs), strict=True) for result in run.results
    }
    return [Compared(result.record, names.get(result.id, "")) for result in results]


def run_names(runs: Sequence[StoredRun]) -> list[str]:
    """What the user calls each, else when it began; both where two are called the same."""
    n_of = Counter(run.label for run in runs)
    times = begun_at(runs)
    return [
        f"{run.label}, {time}" if run.label and n_of[run.label] > 1 else run.label or time
        for run, time in zip(runs, times, strict=True)
    ]


def run_title(run: StoredRun, runs: Sequence[StoredRun]) -> str:
    """When it was, what the user calls it, on which machine, and whether it was stopped.

    `runs` are all that it stands among.
    """
    others = [run, *(other for other in runs if other.facts.id != run.facts.id)]
    stopped = ""
    if run.is_stopped:
        stopped = _tr("stopped: {0} of {1}").format(f"{run.n_measured:,}", f"{run.facts.n_cases:,}")
    parts = (begun_at(others)[0], run.label, stopped, run.facts.machine)
    return " · ".join(part for part in parts if part)


def begun_at(runs: Sequence[StoredRun]) -> list[str]:
    """Local time of each, with seconds where two began in the same minute."""
    n_in = Counter(_minute(run) for run in runs)
    locale = QLocale()
    short = QLocale.FormatType.ShortFormat
    plain, exact = (f"{locale.dateFormat(short)} {time}" for time in _time_formats(locale))
    return [
        locale.toString(_when(run), exact if n_in[_minute(run)] > 1 else plain).replace("\u202f", " ")
        for run in runs
    ]


def _time_formats(locale: QLocale) -> tuple[str, str]:
    """Without and with seconds."""
    plain = locale.timeFormat(QLocale.FormatType.ShortFormat)
    return plain, plain.replace("mm", "mm:ss")


def _minute(run: StoredRun) -> int:
    return round(run.facts.begun_at * 1000) // 60_000


def _when(run: StoredRun) -> QDateTime:
    return QDateTime.fromMSecsSinceEpoch(round(run.facts.begun_at * 1000))


def _tr(text: str) -> str:
    return QCoreApplication.translate("BenchCompared", text)
