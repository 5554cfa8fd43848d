"""The chosen results compared: a table, plots, and what takes them away.

Records go in with the names of their runs. pyqtgraph is imported when the first results are compared. Knows
nothing about how they were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.views.bench_compared import Compared
from app.views.bench_export_row import BenchExportRow
from app.views.bench_table import BenchTable
from app.views.leading_label import LeadingLabel
from app.views.settings_row import muted_label
from app.views.tokens import UNIT

if TYPE_CHECKING:
    from app.views.bench_plot import BenchPlot

MOST_COMPARED = 12
"""More columns and bars cannot be told apart; all can be exported."""


class BenchComparison(QWidget):
    """Hidden while nothing is chosen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plot: BenchPlot | None = None
        self.title = LeadingLabel(self.tr("Comparison"))
        self.title.setObjectName("groupTitle")
        self.table = BenchTable()
        self.remark = muted_label()
        self.exports = BenchExportRow(self._draw)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(UNIT)
        for widget in (self.title, self.exports, self.table, self.remark):
            self._column.addWidget(widget)
        self.hide()

    def show_results(self, chosen: Sequence[Compared]) -> None:
        """Compare `chosen`; where there are many, columns and bars are of the first of them."""
        shown = chosen[:MOST_COMPARED]
        self.exports.offer([one.record for one in chosen])
        self.table.show_results(shown)
        self.remark.setText(
            self.tr(
                "Columns and bars are of the first {0} of {1} chosen results; lines and exports have all."
            ).format(MOST_COMPARED, f"{len(chosen):,}")
        )
        self.remark.setVisible(len(chosen) > MOST_COMPARED)
        if shown:
            self._plot().show_results(chosen, MOST_COMPARED)
        self.setVisible(bool(chosen))

    def _plot(self) -> BenchPlot:
        if self.plot is None:
            from app.views.bench_plot import BenchPlot  # ready, or nearly: see BenchPage.showEvent

            self.plot = BenchPlot()
            self._column.addWidget(self.plot)
        return self.plot

    def _draw(self, form: str) -> bytes:
        plot = self._plot()
        return plot.png() if form == "png" else plot.svg()
