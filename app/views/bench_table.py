"""Chosen benchmarks side by side: a column a result, a row a figure; of two, how much they differ.

Records go in with the names of their runs; what was not measured reads "n/a", and rows that say nothing of
any of them are left out. Knows nothing about how they were measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from app.data.bench_record import BenchRecord
from app.views import bench_words, number_format
from app.views.bench_compared import Compared
from app.views.isolating_delegate import IsolatingDelegate
from app.views.number_format import NOT_AVAILABLE
from app.views.tokens import UNIT

T = TypeVar("T", int, float)

_LEAST_COLUMN = UNIT * 16
_TRAILING = Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class Figure:
    """A row: its title, how a record reads there, and the number behind that where there is one."""

    title: str
    cell: Callable[[BenchRecord], str]
    value: Callable[[BenchRecord], float | None] | None = None

    def difference(self, records: Sequence[BenchRecord]) -> str:
        """The second of two against the first, in percent."""
        if self.value is None:
            return ""
        first, second = (self.value(record) for record in records)
        return NOT_AVAILABLE if not first or second is None else f"{100 * (second / first - 1):+,.1f} %"


class BenchTable(QTableWidget):
    """As high as its rows; wider comparisons scroll sideways."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("benchTable")
        self.setAccessibleName(self.tr("The chosen results side by side"))
        self.setItemDelegate(IsolatingDelegate(self))
        self._make_quiet()

    def show_results(self, chosen: Sequence[Compared]) -> None:
        """Show `chosen` in place of what was shown."""
        shown = _rows([one.record for one in chosen])
        heads = [(_head(one), f"{bench_words.model_of(one.record)}, {one.run}") for one in chosen]
        if len(chosen) == 2:
            heads.append((self.tr("Second\nagainst first"), self.tr("How much more the second is, or less")))
        self.clear()
        self.setRowCount(len(shown))
        self.setColumnCount(len(heads))
        self.setVerticalHeaderLabels([title for title, _ in shown])
        for column, (text, tip) in enumerate(heads):
            header = QTableWidgetItem(text)
            header.setToolTip(tip)
            header.setTextAlignment(_TRAILING)
            self.setHorizontalHeaderItem(column, header)
        for row, (_, cells) in enumerate(shown):
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setToolTip(text)
                item.setTextAlignment(_TRAILING)
                self.setItem(row, column, item)
        self._keep_heads_whole([line for text, _ in heads for line in text.split("\n")])
        self.resizeRowsToContents()
        self._fit()

    def _keep_heads_whole(self, lines: Sequence[str]) -> None:
        header = self.horizontalHeader()
        header.ensurePolished()
        font = header.font()
        font.setBold(True)
        widest = max((QFontMetrics(font).horizontalAdvance(line) for line in lines), default=0)
        header.setMinimumSectionSize(max(_LEAST_COLUMN, widest + UNIT * 2))

    def _fit(self) -> None:
        bar = self.horizontalScrollBar().sizeHint().height()
        self.setFixedHeight(
            self.horizontalHeader().sizeHint().height() + self.verticalHeader().length() + bar + 2
        )

    def _make_quiet(self) -> None:
        """A table to read: nothing to edit, no grid."""
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)  # Tab leaves the table, arrows move in it
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setCornerButtonEnabled(False)
        self.verticalHeader().setDefaultAlignment(
            Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter
        )
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setHighlightSections(False)
            header.setSectionsClickable(False)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)


def _head(one: Compared) -> str:
    test = one.record.test.replace(" @ ", "\n@ ")
    return "\n".join(part for part in (test, one.run) if part)


def _rows(records: Sequence[BenchRecord]) -> list[tuple[str, list[str]]]:
    """Title and cells of the rows that say something, of two records with their difference."""
    rows = []
    for figure in _figures():
        cells = [figure.cell(record) for record in records]
        if figure.title in _always() or any(cell not in (NOT_AVAILABLE, "") for cell in cells):
            rows.append((figure.title, cells + ([figure.difference(records)] if len(records) == 2 else [])))
    return rows


def _always() -> tuple[str, ...]:
    return (_tr("Median"), _tr("Spread"), _tr("Expected"), _tr("Limit of the memory"))


def _figures() -> tuple[Figure, ...]:
    rate, seconds, size = number_format.rate, number_format.seconds, number_format.size
    return (
        Figure(_tr("Model"), bench_words.model_of),
        Figure(_tr("Settings"), bench_words.settings),
        _number(_tr("Median"), rate, bench_words.speed_of),
        _number(_tr("Mean"), rate, lambda r: None if r.test_kind == "chat" else r.avg_ts),
        Figure(_tr("Spread"), _spread),
        Figure(_tr("Slowest, fastest"), _range),
        _number(_tr("Expected"), rate, lambda r: r.predicted_ts),
        _number(_tr("Limit of the memory"), rate, lambda r: r.limit_ts),
        Figure(_tr("Of the memory's speed"), lambda r: _percent(r.bandwidth_used_pct)),
        Figure(_tr("Of the processor's speed"), lambda r: _percent(r.compute_used_pct)),
        _number(_tr("First token"), seconds, lambda r: r.ttft_ms),
        _number(_tr("Prompt in a chat"), rate, lambda r: r.prompt_ts),
        _number(_tr("Loading"), seconds, lambda r: r.load_ms),
        _number(_tr("An eviction"), _milliseconds, lambda r: r.eviction_ms),
        _number(_tr("Restoring the cache"), _milliseconds, lambda r: r.restore_ms),
        _number(_tr("Reading it again"), seconds, lambda r: r.reevaluation_ms),
        _number(_tr("KV cache"), size, lambda r: r.kv_bytes),
        _number(_tr("Peak memory"), size, lambda r: r.peak_rss_bytes),
        _number(_tr("Graphics memory"), size, lambda r: r.vram_bytes),
        Figure(_tr("Machine"), lambda r: r.gpu_info or r.cpu_info),
        Figure(_tr("Notes"), lambda r: " ".join(bench_words.notes(r))),
    )


def _number(title: str, form: Callable[[T | None], str], value: Callable[[BenchRecord], T | None]) -> Figure:
    return Figure(title, lambda record: form(value(record)), value)


def _spread(record: BenchRecord) -> str:
    text = bench_words.spread(record)
    if record.test_kind != "chat" or text == NOT_AVAILABLE:
        return text
    return _tr("{0}\nof the whole chat").format(text)


def _range(record: BenchRecord) -> str:
    if record.test_kind == "chat" or record.min_ts is None:
        return NOT_AVAILABLE
    return f"{bench_words.number(record.min_ts)} \N{EN DASH} {bench_words.number(record.max_ts)}"


def _percent(value: float | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value:,.0f} %"


def _milliseconds(value: float | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value:,.1f} ms"


def _tr(text: str) -> str:
    return QCoreApplication.translate("BenchTable", text)
