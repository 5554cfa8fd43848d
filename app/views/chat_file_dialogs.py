"""Asking where chats shall be written to, or read from."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget


def ask_where_to_export(window: QWidget, name: str, kind: str, chosen: Callable[[str], None]) -> None:
    """Ask for a path that ends like `name`; `kind` says what is written, as "Markdown (*.md)"."""
    dialog = QFileDialog(window, window.tr("Export"))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setNameFilter(kind)
    dialog.setDefaultSuffix(name.rpartition(".")[2])
    dialog.selectFile(name)
    dialog.fileSelected.connect(chosen)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()


def ask_what_to_import(window: QWidget, chosen: Callable[[str], None]) -> None:
    """Ask for a file of chats."""
    dialog = QFileDialog(window, window.tr("Import chats"))
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    dialog.setNameFilter(window.tr("Chats exported by Weir (*.json)"))
    dialog.fileSelected.connect(chosen)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
