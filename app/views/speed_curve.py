"""The speed over the last minutes as a curve with the figures that one reads it by.

Speeds go in. Knows nothing about where they are measured.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from app.views import number_format
from app.views.sparkline import Sparkline, Values
from app.views.tokens import UNIT


class SpeedCurve(QWidget):
    """The curve with its highest value, its beginning and its end."""

    def __init__(self, minutes: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.curve = Sparkline(self.tr("Speed over the last minutes"), QSize(UNIT * 24, UNIT * 6))
        self.curve.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.highest = QLabel()
        begin, end = QLabel(self.tr("{0} min ago").format(minutes)), QLabel(self.tr("now"))
        for label in (self.highest, begin, end):
            label.setProperty("muted", True)
        # Time runs from left to right in every language, as in all diagrams.
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(UNIT // 4)
        grid.addWidget(self.highest, 0, 0, 1, 2)
        grid.addWidget(self.curve, 1, 0, 1, 2)
        grid.addWidget(begin, 2, 0)
        grid.addWidget(end, 2, 1, Qt.AlignmentFlag.AlignRight)

    def show_speeds(self, speeds: Values) -> None:
        """Tokens a second, oldest first, None for a gap."""
        self.curve.show_values(speeds)
        top = number_format.rate(self.curve.top or None)
        self.highest.setText(self.tr("highest {0}").format(top))
