"""Taking the results of endurance runs away: as files, or through the clipboard.

Reports and a picture go in; what became of them is said beside the buttons. Knows nothing about runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QMenu, QPushButton, QWidget

from app.services.endurance_files import text_of, write_file
from app.views.tokens import UNIT
from engine.errors import KnownError
from engine.protocol import EnduranceReport

PICTURES = ("png", "svg")


class EnduranceExportRow(QWidget):
    """The buttons; hidden while there is nothing to take. `draw` makes a picture in one of `PICTURES`."""

    def __init__(self, draw: Callable[[str], bytes], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._draw = draw
        self._reports: Sequence[EnduranceReport] = ()
        self.export_button = QPushButton(self.tr("Export"))
        self.export_button.setAccessibleName(self.tr("Export the results"))
        self.copy_button = QPushButton(self.tr("Copy as Markdown"))
        self.copy_button.clicked.connect(self._copy)
        self.told = QLabel()
        self.told.setProperty("muted", True)
        self.told.setTextFormat(Qt.TextFormat.PlainText)
        self.told.setWordWrap(True)
        self._make_menu()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(UNIT)
        for button in (self.export_button, self.copy_button):
            button.setObjectName("newChat")  # dressed like it
            row.addWidget(button)
        row.addWidget(self.told, 1)

    def offer(self, reports: Sequence[EnduranceReport], *, has_curves: bool) -> None:
        """What there is to take now."""
        self._reports = reports
        for form, action in self.actions_of.items():
            action.setEnabled(has_curves if form in PICTURES else bool(reports))
        self.copy_button.setEnabled(bool(reports))
        self.setVisible(has_curves)
        if not reports:
            self.told.clear()

    def export(self, form: str, path: str) -> None:
        """Write the results to `path`; `form` is "csv", "json", "md" or one of `PICTURES`."""
        content = self._draw(form) if form in PICTURES else text_of(self._reports, form).encode("utf-8")
        try:
            write_file(path, content)
        except KnownError as error:
            self.told.setText(str(error))
        else:
            self.told.setText(self.tr("Saved as {0}.").format(path))

    def _make_menu(self) -> None:
        menu = QMenu(self)
        self.actions_of = {
            form: menu.addAction(title)
            for form, title in (
                ("csv", self.tr("Results as CSV")),
                ("json", self.tr("Results as JSON")),
                ("md", self.tr("Results as Markdown")),
                ("png", self.tr("Curves as PNG")),
                ("svg", self.tr("Curves as SVG")),
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
        dialog.selectFile(f"weir-endurance.{form}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(functools.partial(self.export, form))
        dialog.open()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(text_of(self._reports, "md"))
        self.told.setText(self.tr("Copied."))
