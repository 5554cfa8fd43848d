"""The KV cache as a bar: live cells of all cells.

Two counts go in. It knows nothing about what the cells hold.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.views.number_format import fraction
from app.views.theme import UNIT, current_tokens


class KvGauge(QWidget):
    """A bar that fills from the left."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fraction = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("KV cache fill"))

    def show_cells(self, used: int, total: int) -> None:
        """Show `used` of `total` cells; 0 of 0 is an empty bar."""
        self._fraction = fraction(used, total)
        self.setAccessibleDescription(self.tr("{0} of {1} cells").format(f"{used:,}", f"{total:,}"))
        self.update()

    def sizeHint(self) -> QSize:
        """Small enough to stand in a line of text."""
        return QSize(UNIT * 10, UNIT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """A track and the part that is full."""
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        track = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        painter.setBrush(QColor(tokens.border))
        painter.drawRoundedRect(track, 3, 3)
        if self._fraction > 0:
            painter.setBrush(QColor(tokens.accent))
            full = QRectF(track.left(), track.top(), max(4.0, track.width() * self._fraction), track.height())
            painter.drawRoundedRect(full, 3, 3)
        painter.end()
