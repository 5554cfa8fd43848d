"""Taking benchmarks away: as files, or through the clipboard.

Records and a picture go in; what became of them is said beside the buttons. Promises that only file names
of models leave, no paths. Knows nothing about runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QPushButton, QWidget

from app.data.bench_export import FORMATS
from app.data.bench_record import BenchRecord
from app.services.endurance_files import write_file
from app.views.announcing import announce
from app.views.settings_row import muted_label
from app.views.tokens import UNIT
from engine.errors import KnownError

PICTURES = ("png", "svg")


class BenchExportRow(QWidget):
    """The buttons. `draw` makes a picture in one of `PICTURES`."""

    def __init__(self, draw: Callable[[str], bytes], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._draw = draw
        self._records: Sequence[BenchRecord] = ()
        self.export_button = QPushButton(self.tr("Export"))
        self.export_button.setAccessibleName(self.tr("Export the chosen results"))
        self.copy_button = QPushButton(self.tr("Copy as Markdown"))
        self.copy_button.clicked.connect(self._copy)
        self.told = muted_label()
        self._make_menu()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(UNIT)
        for button in (self.export_button, self.copy_button):
            button.setObjectName("formButton")
            row.addWidget(button)
        row.addWidget(self.told, 1)

    def offer(self, records: Sequence[BenchRecord]) -> None:
        """What there is to take now."""
        self._records = records
        self.told.clear()

    def export(self, form: str, path: str) -> None:
        """Write the results to `path`; `form` is a key of `FORMATS` or one of `PICTURES`."""
        try:
            if form in PICTURES:
                content = self._draw(form)
            else:
                content = FORMATS[form](self._records, False).encode("utf-8")
            write_file(path, content)
        except KnownError as error:
            self._tell(str(error))
        else:
            self._tell(self.tr("Saved as {0}.").format(path))

    def _make_menu(self) -> None:
        menu = QMenu(self)
        self.actions_of = {
            form: menu.addAction(title)
            for form, title in (
                ("csv", self.tr("Results as CSV")),
                ("json", self.tr("Results as JSON")),
                ("jsonl", self.tr("Results as JSON lines")),
                ("md", self.tr("Results as Markdown")),
                ("png", self.tr("Plots as PNG")),
                ("svg", self.tr("Plots as SVG")),
            )
        }
        for form, action in self.actions_of.items():
            action.triggered.connect(functools.partial(self._ask_where, form))
        self.export_button.setMenu(menu)

    def _ask_where(self, form: str) -> None:
        dialog = QFileDialog(self.window(), self.tr("Export the results"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDirectory(
            QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        )
        dialog.setNameFilter(f"{form.upper()} (*.{form})")
        dialog.setDefaultSuffix(form)
        dialog.selectFile(f"weir-benchmarks.{form}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(functools.partial(self.export, form))
        dialog.open()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(FORMATS["md"](self._records, False))
        self._tell(self.tr("Copied."))

    def _tell(self, words: str) -> None:
        self.told.setText(words)
        announce(self, words)
