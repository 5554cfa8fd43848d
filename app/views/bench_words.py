"""Benchmarks in words: what a cell, a run and a doubt read, in the language of the window.

Stored results and records go in, short texts and sentences come out; what is not known reads "n/a".
Knows nothing about widgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QCoreApplication

from app.data.bench_export import file_name
from app.data.bench_record import BenchRecord
from app.data.bench_store import StoredResult
from app.data.bench_warnings import MOST_OTHER_LOAD_PCT
from app.views import number_format
from app.views.bench_compared import Compared

TEST, MODEL, SPEED, SPREAD, SETTINGS, NOTES = range(6)
"""The columns of the results."""

NUMBERS = frozenset({SPEED, SPREAD})
"""Those that are numbers."""

_FLASH_ATTENTION = {-1: "auto", 0: "off", 1: "on"}


def titles() -> tuple[str, ...]:
    """Those of the columns."""
    return (_tr("Test"), _tr("Model"), _tr("Tokens/s"), _tr("Spread"), _tr("Settings"), _tr("Notes"))


def cell(result: StoredResult, column: int) -> str:
    """What a result reads in one of the columns."""
    record = result.record
    match column:
        case 0:
            return record.test
        case 1:
            return model_of(record)
        case 2:
            return number(speed_of(record))
        case 3:
            return spread(record)
        case 4:
            return settings(record)
    return " ".join(notes(record))


def key(result: StoredResult, column: int) -> Any:
    """What a result is sorted by in one of the columns; None stands last."""
    record = result.record
    match column:
        case 0:
            return (record.test_kind, record.n_depth, record.n_prompt, record.n_gen)
        case 2:
            return speed_of(record)
        case 3:
            return spread_of(record)
    return cell(result, column).casefold() or None


def all_in_words(result: StoredResult) -> str:
    """One sentence with all of a row, for screen readers."""
    record = result.record
    words = _tr("{0}, {1}: {2}, spread {3}, {4}").format(
        model_of(record),
        record.test,
        number_format.rate(speed_of(record)),
        spread(record),
        settings(record),
    )
    return " ".join([words, *notes(record)])


def speed_of(record: BenchRecord) -> float | None:
    """The figure that stands for a result: a chat's reply, else the median of the repetitions."""
    return record.decode_ts if record.test_kind == "chat" else record.median_ts


def spread_of(record: BenchRecord) -> float | None:
    """Standard deviation in percent of the mean, of a chat that of question and answer together.

    None of fewer than two repetitions.
    """
    if len(record.samples_ns) < 2 or not record.avg_ts or record.stddev_ts is None:
        return None
    return 100 * record.stddev_ts / record.avg_ts


def spread(record: BenchRecord) -> str:
    """As it is read."""
    value = spread_of(record)
    return number_format.NOT_AVAILABLE if value is None else f"±{value:.1f} %"


def model_of(record: BenchRecord) -> str:
    """What a model is called: its file says more of its quantization than its own name."""
    return file_name(record.model_filename).removesuffix(".gguf") or record.model_name or record.model_type


def settings(record: BenchRecord) -> str:
    """What the case was measured with, as short as can be."""
    kv_type = record.type_k if record.type_k == record.type_v else f"{record.type_k}/{record.type_v}"
    threads = _tr("1 thread") if record.n_threads == 1 else _tr("{0} threads").format(record.n_threads)
    parts = [threads, f"KV {kv_type}", f"FA {flash_attention(record)}"]
    if record.n_batch != 2048:
        parts.append(_tr("batch {0}").format(f"{record.n_batch:,}"))
    return " · ".join(parts)


def flash_attention(record: BenchRecord) -> str:
    """auto, on or off, as the flag of `llama-bench` is read."""
    return _FLASH_ATTENTION.get(record.flash_attn, number_format.NOT_AVAILABLE)


def notes(record: BenchRecord) -> list[str]:
    """What makes the figures doubtful, in sentences; none on a quiet machine."""
    told = []
    if record.other_load_pct is not None and record.other_load_pct > MOST_OTHER_LOAD_PCT:
        told.append(_tr("Other programs took {0} % of a core.").format(f"{record.other_load_pct:,.0f}"))
    if record.throttled:
        told.append(_tr("The machine slowed itself down."))
    if record.power_source == "battery":
        told.append(_tr("On battery."))
    if record.aborted:
        told.append(_tr("Aborted: {0} measured.").format(len(record.samples_ns)))
    return told


def labels(chosen: Sequence[Compared]) -> list[str]:
    """A short name for each in a plot: its test, and whatever the others do not all share."""
    parts = [(model_of(one.record), one.record.test, settings(one.record), one.run) for one in chosen]
    varying = [place for place in range(4) if place == 1 or len({part[place] for part in parts}) > 1]
    return [" · ".join(part[place] for place in varying if part[place]) for part in parts]


def number(value: float | None) -> str:
    """Tokens a second, where the unit is known."""
    return number_format.short_rate(value).removesuffix("/s")


def _tr(text: str) -> str:
    return QCoreApplication.translate("BenchWords", text)
