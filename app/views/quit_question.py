"""Asking before Weir is left while something would be lost.

A sentence goes in, whether to leave comes out. Knows nothing about what would be lost.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QMessageBox, QWidget


def may_quit(sentence: str, parent: QWidget | None = None) -> bool:
    """Whether Weir may be left; asks only where there is a `sentence`. Escape stays."""
    if not sentence:
        return True
    box = QMessageBox(QMessageBox.Icon.NoIcon, "Weir", sentence, parent=parent)
    box.setTextFormat(Qt.TextFormat.PlainText)  # it names models
    leave = box.addButton(_tr("Leave"), QMessageBox.ButtonRole.DestructiveRole)
    stay = box.addButton(_tr("Stay"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(stay)
    box.setEscapeButton(stay)
    box.exec()
    return box.clickedButton() is leave


def _tr(text: str) -> str:
    return QCoreApplication.translate("QuitQuestion", text)
