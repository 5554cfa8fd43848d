"""A small curve painted by hand, with gaps where nothing was measured.

A fixed number of values goes in. Promises: a repaint costs the same however long the engine runs; it is
painted at most four times a second, and not at all when it is hidden or nothing has changed. It knows
nothing about what the values are. Time runs from left to right in every language, as in all diagrams.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, QTimer
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.views.tokens import UNIT, current_tokens

PAUSE_MS = 250
"""The least time between two repaints."""

Values = Sequence[float | None]


class Sparkline(QWidget):
    """The curve; its lower edge is 0, its upper edge a little above the highest value."""

    def __init__(self, name: str, size: QSize, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: tuple[float | None, ...] = ()
        self._size = size
        self._is_late = False
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._catch_up)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)

    @property
    def values(self) -> tuple[float | None, ...]:
        """What is shown, or will be within the pause."""
        return self._values

    @property
    def top(self) -> float:
        """The highest value, 0 where there is none."""
        return max((value for value in self._values if value is not None), default=0.0)

    def show_values(self, values: Values) -> None:
        """Draw `values`, oldest first, in place of what was drawn."""
        if tuple(values) == self._values:
            return
        self._values = tuple(values)
        if self._pause.isActive():
            self._is_late = True
        elif self.isVisible():
            self._pause.start()
            self.update()

    def sizeHint(self) -> QSize:
        """The size that was asked for."""
        return self._size

    def minimumSizeHint(self) -> QSize:
        """A curve may be narrow, but not lower."""
        return QSize(UNIT * 4, self._size.height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The base line, and each stretch between two gaps with its area."""
        tokens, area = current_tokens(), QRectF(self.rect()).adjusted(1, 2, -1, -1)
        painter = QPainter(self)
        painter.fillRect(QRectF(area.left(), area.bottom(), area.width(), 1), QColor(tokens.border))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        accent, shade = QColor(tokens.accent), QColor(tokens.accent)
        shade.setAlphaF(0.18)
        for stretch in self._stretches(area):
            line = QPainterPath(stretch[0])
            for point in stretch[1:]:
                line.lineTo(point)
            below = QPainterPath(line)
            below.lineTo(stretch[-1].x(), area.bottom())
            below.lineTo(stretch[0].x(), area.bottom())
            painter.fillPath(below, shade)
            painter.strokePath(line, QPen(accent, 1.5))
        painter.end()

    def _stretches(self, area: QRectF) -> list[list[QPointF]]:
        """The points between gaps; a value alone is a short line, else it would not be seen."""
        top = self.top * 1.1 or 1.0
        step = area.width() / max(1, len(self._values))
        stretches: list[list[QPointF]] = []
        is_gap = True
        for index, value in enumerate(self._values):
            if value is None:
                is_gap = True
                continue
            x, y = area.left() + index * step, area.bottom() - area.height() * value / top
            if is_gap:
                stretches.append([QPointF(x, y)])
                is_gap = False
            stretches[-1].append(QPointF(x + step, y))
        return stretches

    def _catch_up(self) -> None:
        if self._is_late and self.isVisible():
            self._pause.start()
            self.update()
        self._is_late = False
