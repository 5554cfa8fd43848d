"""Taking benchmarks away; see `ExportRow`.

Promises that only file names of models leave, no paths. Knows nothing about runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from app.data.bench_export import FORMATS
from app.data.bench_record import BenchRecord
from app.views.export_row import ExportRow


class BenchExportRow(ExportRow):
    """`draw` makes a picture in one of `PICTURES`."""

    def __init__(self, draw: Callable[[str], bytes], parent: QWidget | None = None) -> None:
        titles = {
            "csv": _tr("Results as CSV"),
            "json": _tr("Results as JSON"),
            "jsonl": _tr("Results as JSON lines"),
            "md": _tr("Results as Markdown"),
            "png": _tr("Plots as PNG"),
            "svg": _tr("Plots as SVG"),
        }
        super().__init__(
            "weir-benchmarks",
            titles,
            write=lambda form: FORMATS[form](self._records, False),
            draw=draw,
            parent=parent,
        )
        self._records: Sequence[BenchRecord] = ()

    def offer(self, records: Sequence[BenchRecord]) -> None:
        """What there is to take now."""
        self._records = records
        self.told.clear()


def _tr(text: str) -> str:
    return QCoreApplication.translate("BenchExportRow", text)
