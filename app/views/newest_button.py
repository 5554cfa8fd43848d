"""The button at the lower edge of the transcript that leads to the newest message.

A rectangle to stand in goes in, a click comes out. Knows nothing about scrolling.
"""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QPushButton, QWidget

from app.views.tokens import UNIT


class NewestButton(QPushButton):
    """Hidden while the end is in sight."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setText(self.tr("\N{DOWNWARDS ARROW} Newest"))
        self.setObjectName("newest")
        self.setAccessibleName(self.tr("Go to the newest message"))
        self.hide()

    def stand_in(self, area: QRect) -> None:
        """Take the place at the lower edge of `area`, before everything else."""
        size = self.sizeHint()
        self.setGeometry(
            area.center().x() - size.width() // 2,
            area.bottom() - size.height() - UNIT,
            size.width(),
            size.height(),
        )
        self.raise_()
