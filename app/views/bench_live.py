"""Bars of what a running benchmark has measured: one a case with its spread, and a line for the next.

Rows go in. Bars of the same kind have the same scale. Painted by hand, so that it costs nothing beside a
measurement and needs no plotting library. Knows nothing about runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QStyle, QWidget

from app.views.gauge_label import isolated
from app.views.tokens import UNIT, current_tokens


@dataclass(frozen=True, slots=True)
class BarRow:
    """`value` None has no bar yet; `low` and `high` are the slowest and the fastest repetition.

    Rows with the same `scale` are drawn with the same one. `text` stands behind the bar.
    """

    name: str
    text: str
    scale: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None


class BenchLive(QWidget):
    """As high as its rows."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[BarRow] = ()
        self.setAccessibleName(self.tr("Measured so far"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_rows(self, rows: Sequence[BarRow]) -> None:
        """Draw `rows` in place of what was drawn."""
        if rows == self._rows:
            return
        self._rows = rows
        self.setAccessibleDescription("; ".join(f"{row.name}: {row.text}" for row in rows))
        self.updateGeometry()
        self.update()

    @property
    def rows(self) -> Sequence[BarRow]:
        """What is drawn."""
        return self._rows

    def sizeHint(self) -> QSize:
        """All rows."""
        return QSize(UNIT * 40, len(self._rows) * self._row_height())

    def minimumSizeHint(self) -> QSize:
        """Narrow bars can still be told apart."""
        return QSize(UNIT * 30, self.sizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Name, bar, figure; the other way round in a window from right to left."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number, row in enumerate(self._rows):
            self._paint_row(painter, row, number * self._row_height())
        painter.end()

    def _paint_row(self, painter: QPainter, row: BarRow, top: int) -> None:
        tokens, height = current_tokens(), self._row_height()
        text_width = max(self.fontMetrics().horizontalAdvance(other.text) for other in self._rows) + UNIT
        name_width = min(
            self.width() * 2 // 5,
            max(self.fontMetrics().horizontalAdvance(other.name) for other in self._rows) + UNIT * 2,
        )
        bar_width = max(0, self.width() - name_width - text_width - UNIT)
        align = QStyle.visualAlignment(self.layoutDirection(), _LEADING)
        name = self.fontMetrics().elidedText(row.name, Qt.TextElideMode.ElideMiddle, name_width - UNIT)
        painter.setPen(QColor(tokens.text if row.value is not None else tokens.muted))
        painter.drawText(self._mirrored(QRect(0, top, name_width, height)), align, isolated(name))
        painter.drawText(
            self._mirrored(QRect(self.width() - text_width, top, text_width, height)),
            align,
            isolated(row.text),
        )
        if row.value is not None:
            self._paint_bar(painter, row, QRect(name_width, top, bar_width, height))

    def _paint_bar(self, painter: QPainter, row: BarRow, room: QRect) -> None:
        tokens = current_tokens()
        most = max(other.high or other.value or 0.0 for other in self._rows if other.scale == row.scale)
        if most <= 0:
            return

        def place(value: float) -> int:
            return round(value / most * room.width())

        thickness = room.height() - UNIT
        bar = QRect(room.left(), room.top() + UNIT // 2, place(row.value or 0.0), thickness)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent))
        painter.drawRoundedRect(QRectF(self._mirrored(bar)), 2, 2)
        if row.low is not None and row.high is not None and row.high > row.low:
            width = max(1, place(row.high) - place(row.low))
            span = QRect(room.left() + place(row.low), bar.top(), width, thickness)
            self._paint_spread(painter, QRectF(self._mirrored(span)))

    def _paint_spread(self, painter: QPainter, span: QRectF) -> None:
        painter.setPen(QPen(QColor(current_tokens().text), 1.5))
        middle, reach = span.center().y(), span.height() / 4
        painter.drawLine(QPointF(span.left(), middle), QPointF(span.right(), middle))
        for x in (span.left(), span.right()):
            painter.drawLine(QPointF(x, middle - reach), QPointF(x, middle + reach))

    def _mirrored(self, rect: QRect) -> QRect:
        return QStyle.visualRect(self.layoutDirection(), self.rect(), rect)

    def _row_height(self) -> int:
        return self.fontMetrics().height() + UNIT


_LEADING = Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter
