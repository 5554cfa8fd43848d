"""Taking results away: as files, or through the clipboard.

A way to write them and a way to draw them go in; what became of them is said beside the buttons and to screen
readers. Knows nothing about what the results are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QPushButton, QWidget

from app.services.endurance_files import write_file
from app.views.announcing import announce
from app.views.settings_row import muted_label
from app.views.tokens import UNIT
from engine.errors import KnownError

PICTURES = ("png", "svg")


class ExportRow(QWidget):
    """The buttons. Forms are endings of files; those in `PICTURES` are drawn, the others are texts."""

    def __init__(
        self,
        stem: str,
        titles: Mapping[str, str],
        *,
        write: Callable[[str], str],
        draw: Callable[[str], bytes],
        parent: QWidget | None = None,
    ) -> None:
        """`stem` names the files; `titles` are the forms in words; "md" is one that `write` knows."""
        super().__init__(parent)
        self._stem = stem
        self._write = write
        self._draw = draw
        self.export_button = QPushButton(self.tr("Export"))
        self.export_button.setAccessibleName(self.tr("Export the results"))
        self.copy_button = QPushButton(self.tr("Copy as Markdown"))
        self.copy_button.clicked.connect(self._copy)
        self.told = muted_label()
        menu = QMenu(self)
        self.actions_of = {form: menu.addAction(title) for form, title in titles.items()}
        for form, action in self.actions_of.items():
            action.triggered.connect(functools.partial(self._ask_where, form))
        self.export_button.setMenu(menu)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(UNIT)
        for button in (self.export_button, self.copy_button):
            button.setObjectName("formButton")
            row.addWidget(button)
        row.addWidget(self.told, 1)

    def export(self, form: str, path: str) -> None:
        """Write the results to `path` in one of the forms."""
        try:
            content = self._draw(form) if form in PICTURES else self._write(form).encode("utf-8")
            write_file(path, content)
        except KnownError as error:
            self._tell(str(error))
        else:
            self._tell(self.tr("Saved as {0}.").format(path))

    def _ask_where(self, form: str) -> None:
        dialog = QFileDialog(self.window(), self.tr("Export the results"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDirectory(
            QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        )
        dialog.setNameFilter(f"{form.upper()} (*.{form})")
        dialog.setDefaultSuffix(form)
        dialog.selectFile(f"{self._stem}.{form}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(functools.partial(self.export, form))
        dialog.open()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._write("md"))
        self._tell(self.tr("Copied."))

    def _tell(self, words: str) -> None:
        self.told.setText(words)
        announce(self, words)
