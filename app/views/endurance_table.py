"""The results of endurance runs side by side: a column a run, a row a figure.

Reports go in; what was not measured reads "n/a". Knows nothing about runs that go on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from app.views import number_format
from engine.protocol import EnduranceReport, EnduranceRun

_MIB = 2**20
# Roles of the palette, so that it follows the theme.
_STYLE = """
QTableWidget { background: transparent; }
QTableWidget::item { padding: 2px 8px; }
QHeaderView, QTableCornerButton::section { background: transparent; border: none; }
QHeaderView::section { background: transparent; border: none; padding: 4px 8px; }
QHeaderView::section:horizontal { font-weight: 600; border-bottom: 1px solid palette(mid); }
QHeaderView::section:vertical { color: palette(placeholder-text); padding-left: 0; }
"""


class EnduranceTable(QTableWidget):
    """As high as its rows; `names` says what each run is called."""

    def __init__(self, names: dict[EnduranceRun, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names = names
        figures = (
            (self.tr("Tokens read"), ""),
            (self.tr("Perplexity, second half"), self.tr("Lower is better")),
            (self.tr("Speed"), self.tr("Tokens read a second")),
            (self.tr("Peak memory"), self.tr("Of the engine's process")),
            (self.tr("Growth"), self.tr("Of the memory after the first 2,000 tokens")),
            (self.tr("Evictions"), self.tr("How often room was made in the cache")),
            (self.tr("Shifts"), self.tr("How often positions moved")),
            (self.tr("Cost of a shift"), self.tr("Median")),
        )
        self.setRowCount(len(figures))
        for row, (title, hint) in enumerate(figures):
            header = QTableWidgetItem(title)
            header.setToolTip(hint)
            self.setVerticalHeaderItem(row, header)
        self.setAccessibleName(self.tr("Results of the runs"))
        self._make_quiet()

    def show_reports(self, reports: Sequence[EnduranceReport]) -> None:
        """Show `reports` in place of what was shown."""
        self.setColumnCount(len(reports))
        for column, report in enumerate(reports):
            title = QTableWidgetItem(self._names[EnduranceRun(report.policy)])
            title.setTextAlignment(_RIGHT)
            self.setHorizontalHeaderItem(column, title)
            for row, text in enumerate(self._figures(report)):
                item = QTableWidgetItem(text)
                item.setTextAlignment(_RIGHT)
                self.setItem(row, column, item)
        self.resizeRowsToContents()
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + self.verticalHeader().length() + 2)

    def _figures(self, report: EnduranceReport) -> tuple[str, ...]:
        growth = report.rss_growth_bytes
        return (
            f"{report.n_tokens:,}",
            _number(report.perplexity_second_half, ".2f"),
            number_format.rate(report.tps),
            number_format.size(report.peak_rss_bytes),
            _number(None if growth is None else growth / _MIB, ".1f", self.tr(" MiB")),
            f"{report.evictions:,}",
            f"{report.shifts:,}",
            _number(report.shift_ms, ".1f", self.tr(" ms")),
        )

    def _make_quiet(self) -> None:
        """A table to read: nothing to edit, no grid, no scroll bars of its own."""
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)  # Tab leaves the table, arrows move in it
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setStyleSheet(_STYLE)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setCornerButtonEnabled(False)
        self.verticalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setHighlightSections(False)
            header.setSectionsClickable(False)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def _number(value: float | None, form: str, unit: str = "") -> str:
    return (
        number_format.NOT_AVAILABLE if value is None or not math.isfinite(value) else f"{value:,{form}}{unit}"
    )
