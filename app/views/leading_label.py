"""A label that stands where lines of the window begin, whatever language its text is in."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLabel, QWidget

from app.views.leading_side import leading_side


class LeadingLabel(QLabel):
    """Plain text. Qt's own label stands on the left for a Latin text, also in a window from right to left."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def showEvent(self, event: QShowEvent) -> None:
        """The direction of the window is known now."""
        super().showEvent(event)
        self._align()

    def changeEvent(self, event: QEvent) -> None:
        """Perhaps the direction has changed."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.LayoutDirectionChange:
            self._align()

    def _align(self) -> None:
        self.setAlignment(leading_side(self) | Qt.AlignmentFlag.AlignVCenter)
