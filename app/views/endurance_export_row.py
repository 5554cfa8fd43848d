"""Taking the results of endurance runs away; see `ExportRow`. Knows nothing about runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from app.services.endurance_files import text_of
from app.views.export_row import PICTURES, ExportRow
from engine.protocol import EnduranceReport


class EnduranceExportRow(ExportRow):
    """Hidden while there is nothing to take. `draw` makes a picture in one of `PICTURES`."""

    def __init__(self, draw: Callable[[str], bytes], parent: QWidget | None = None) -> None:
        titles = {
            "csv": _tr("Results as CSV"),
            "json": _tr("Results as JSON"),
            "md": _tr("Results as Markdown"),
            "png": _tr("Curves as PNG"),
            "svg": _tr("Curves as SVG"),
        }
        super().__init__(
            "weir-endurance",
            titles,
            write=lambda form: text_of(self._reports, form),
            draw=draw,
            parent=parent,
        )
        self._reports: Sequence[EnduranceReport] = ()

    def offer(self, reports: Sequence[EnduranceReport], *, has_curves: bool) -> None:
        """What there is to take now."""
        self._reports = reports
        for form, action in self.actions_of.items():
            action.setEnabled(has_curves if form in PICTURES else bool(reports))
        self.copy_button.setEnabled(bool(reports))
        self.setVisible(has_curves)
        if not reports:
            self.told.clear()


def _tr(text: str) -> str:
    return QCoreApplication.translate("EnduranceExportRow", text)
