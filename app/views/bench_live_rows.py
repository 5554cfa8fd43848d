"""The bars of a running benchmark: reading and writing each under their own heading, with their own scale.

What was measured so far goes in, rows come out. Knows nothing about how they are painted.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from app.data.bench_record import BenchRecord
from app.views import bench_words, number_format
from app.views.bench_compared import Compared
from app.views.bench_live import BarRow
from engine.protocol import BenchProgress


def live_rows(records: Sequence[BenchRecord], progress: BenchProgress | None) -> tuple[BarRow, ...]:
    """A row a record, grouped by kind, then one for what is measured now."""
    names = bench_words.labels([Compared(record) for record in records])
    bars = [_bar(name, record) for name, record in zip(names, records, strict=True)]
    rows = []
    for scale, title in (("prompt", _tr("Reading a prompt")), ("decode", _tr("Writing"))):
        if mine := [bar for bar in bars if bar.scale == scale]:
            rows += [BarRow(title, _full_width(mine)), *mine]
    if progress:
        text = _tr("{0} of {1}").format(progress.index + 1, progress.n_cases)
        rows.append(BarRow(_case_name(progress), text))
    return tuple(rows)


def _full_width(bars: Sequence[BarRow]) -> str:
    """The scale: prompts are read many times faster than replies are written."""
    most = max(bar.high or bar.value or 0.0 for bar in bars)
    return _tr("full width: {0}").format(number_format.rate(most or None))


def _bar(name: str, record: BenchRecord) -> BarRow:
    is_chat = record.test_kind == "chat"  # its samples are of the whole question and answer
    value = bench_words.speed_of(record)
    return BarRow(
        name,
        number_format.rate(value),
        "decode" if record.decode_rate is not None else "prompt",
        value,
        None if is_chat else record.min_ts,
        None if is_chat else record.max_ts,
    )


def _case_name(progress: BenchProgress) -> str:
    """As the results will be called."""
    case = progress.case
    parts = [f"{name}{n}" for name, n in (("pp", case.n_prompt), ("tg", case.n_gen)) if n]
    chat = "chat " if case.is_chat else ""
    return chat + "+".join(parts) + (f" @ d{case.n_depth}" if case.n_depth else "")


def _tr(text: str) -> str:
    return QCoreApplication.translate("BenchLiveRows", text)
