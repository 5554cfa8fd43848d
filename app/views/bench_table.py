"""Chosen benchmarks side by side: a column a result, a row a figure.

Records go in; what was not measured reads "n/a", and rows that say nothing of any of them are left out.
Knows nothing about runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from app.data.bench_record import BenchRecord
from app.views import bench_words, number_format
from app.views.isolating_delegate import IsolatingDelegate
from app.views.number_format import NOT_AVAILABLE
from app.views.tokens import UNIT

Figure = tuple[str, Callable[[BenchRecord], str]]

_LEAST_COLUMN = UNIT * 16
_TRAILING = Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter


class BenchTable(QTableWidget):
    """As high as its rows; wider comparisons scroll sideways."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("benchTable")
        self.setAccessibleName(self.tr("The chosen results side by side"))
        self.setItemDelegate(IsolatingDelegate(self))
        self._make_quiet()

    def show_records(self, records: Sequence[BenchRecord]) -> None:
        """Show `records` in place of what was shown."""
        figures = [
            (title, [cell(record) for record in records], title in _always()) for title, cell in _figures()
        ]
        shown = [
            (title, cells)
            for title, cells, always in figures
            if always or any(cell not in (NOT_AVAILABLE, "") for cell in cells)
        ]
        self.clear()
        self.setRowCount(len(shown))
        self.setColumnCount(len(records))
        self.setVerticalHeaderLabels([title for title, _ in shown])
        for column, record in enumerate(records):
            header = QTableWidgetItem(record.test)
            header.setToolTip(bench_words.model_of(record))
            header.setTextAlignment(_TRAILING)
            self.setHorizontalHeaderItem(column, header)
        for row, (_, cells) in enumerate(shown):
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setToolTip(text)
                item.setTextAlignment(_TRAILING)
                self.setItem(row, column, item)
        self.resizeRowsToContents()
        self._fit()

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
        self.horizontalHeader().setMinimumSectionSize(_LEAST_COLUMN)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)


def _always() -> tuple[str, ...]:
    return (_tr("Median"), _tr("Spread"), _tr("Expected"), _tr("Limit of the memory"))


def _figures() -> tuple[Figure, ...]:
    rate, milliseconds, size = number_format.rate, number_format.seconds, number_format.size
    return (
        (_tr("Model"), bench_words.model_of),
        (_tr("Settings"), bench_words.settings),
        (_tr("Median"), lambda r: rate(bench_words.speed_of(r))),
        (_tr("Mean"), lambda r: rate(None if r.test_kind == "chat" else r.avg_ts)),
        (_tr("Spread"), bench_words.spread),
        (_tr("Slowest, fastest"), _range),
        (_tr("Expected"), lambda r: rate(r.predicted_ts)),
        (_tr("Limit of the memory"), lambda r: rate(r.limit_ts)),
        (_tr("Of the memory's speed"), lambda r: _percent(r.bandwidth_used_pct)),
        (_tr("Of the processor's speed"), lambda r: _percent(r.compute_used_pct)),
        (_tr("First token"), lambda r: milliseconds(r.ttft_ms)),
        (_tr("Prompt in a chat"), lambda r: rate(r.prompt_ts)),
        (_tr("Loading"), lambda r: milliseconds(r.load_ms)),
        (_tr("An eviction"), lambda r: _milliseconds(r.eviction_ms)),
        (_tr("Restoring the cache"), lambda r: _milliseconds(r.restore_ms)),
        (_tr("Reading it again"), lambda r: milliseconds(r.reevaluation_ms)),
        (_tr("KV cache"), lambda r: size(r.kv_bytes)),
        (_tr("Peak memory"), lambda r: size(r.peak_rss_bytes)),
        (_tr("Graphics memory"), lambda r: size(r.vram_bytes)),
        (_tr("Machine"), lambda r: r.gpu_info or r.cpu_info),
        (_tr("Notes"), lambda r: " ".join(bench_words.notes(r))),
    )


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
