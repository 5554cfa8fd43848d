"""The legend of a device's bar: a mark in the colour of each use, its name, the planned figure, the real one.

Rows go in. It paints itself: a table of rich text is laid out ten times for each change, which took twenty
milliseconds for each move of a slider. Promises: its size depends on the number of rows alone. Knows nothing
about where the figures come from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.views.gauge_label import isolated, tabular
from app.views.leading_side import leading_side
from app.views.memory_bar import use_colour
from app.views.memory_words import Row
from app.views.tokens import UNIT

_MARK = 9
_GAP = UNIT * 2
_TEXT = Qt.TextFlag.TextSingleLine | Qt.AlignmentFlag.AlignVCenter
_FIGURE = _TEXT | Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute


class DeviceLegend(QWidget):
    """Columns from the leading edge; a name that has no room is cut, a figure never."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[Row, ...] = ()
        self._widths = (0, 0, 0)
        self.setFont(tabular(self.font()))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show these; where a row has a planned figure, headings tell which one is real."""
        shown = tuple(rows)
        if any(row.planned for row in shown):
            shown = (Row("", self.tr("real"), planned=self.tr("planned")), *shown)
        before, self._rows = self._rows, shown
        if len(shown) != len(before):
            self.updateGeometry()
        if shown != before:
            self.setAccessibleName("\n".join(row.plain() for row in shown if row.name))
            self._measure(before)

    def changeEvent(self, event: QEvent) -> None:
        """Perhaps another font."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._measure(())

    def sizeHint(self) -> QSize:
        """Any width, and a line for each row."""
        return QSize(UNIT * 24, len(self._rows) * self._line_height())

    def minimumSizeHint(self) -> QSize:
        """So wide that the figures and the beginning of each name have room."""
        return QSize(UNIT * 18, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """A line for each row, where it has to be painted."""
        painter = QPainter(self)
        name, planned, figure = self._columns()
        aside = leading_side(self) | _TEXT
        for number, row in enumerate(self._rows):
            if not event.rect().intersects(self._cell(number, (0, self.width()))):
                continue
            if row.use:
                above = (self._line_height() - _MARK) // 2
                mark = self._cell(number, (0, _MARK)).adjusted(0, above, 0, -above)
                painter.fillRect(mark, use_colour(row.use))
            painter.drawText(self._cell(number, name), aside, self._cut(row.name, name[1]))
            for column, text in ((planned, row.planned), (figure, row.figure)):
                if text:
                    painter.drawText(self._cell(number, column), _FIGURE, self._isolated(text))
        painter.end()

    def _measure(self, before: tuple[Row, ...]) -> None:
        """Have painted what is other than `before`: all where the columns move."""
        columns = zip(*((row.name, row.planned, row.figure) for row in self._rows), strict=True)
        widths = [self._widest(texts) for texts in columns]
        names, planned, figures = widths or (0, 0, 0)
        if (names, planned, figures) != self._widths or len(before) != len(self._rows):
            self._widths = (names, planned, figures)
            self.update()
            return
        for number, (row, old) in enumerate(zip(self._rows, before, strict=True)):
            if row != old:
                self.update(self._cell(number, (0, self.width())))

    def _columns(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Start and width of names, planned and real figures, from the leading edge."""
        names, planned, figures = self._widths
        gap = _GAP if planned else 0
        start = _MARK + UNIT
        names = max(0, min(names, self.width() - start - gap - planned - _GAP - figures))
        second = start + names + gap
        return (start, names), (second, planned), (second + planned + _GAP, figures)

    def _widest(self, texts: Iterable[str]) -> int:
        metrics = QFontMetricsF(self.font())
        return max((math.ceil(metrics.horizontalAdvance(text)) for text in texts if text), default=0)

    def _cell(self, number: int, column: tuple[int, int]) -> QRect:
        height, (x, width) = self._line_height(), column
        return QRect(self.width() - x - width if self.isRightToLeft() else x, number * height, width, height)

    def _cut(self, name: str, width: int) -> str:
        if width < self._widths[0]:
            name = self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, width)
        return self._isolated(name)

    def _isolated(self, text: str) -> str:
        return isolated(text) if self.isRightToLeft() else text

    def _line_height(self) -> int:
        return self.fontMetrics().height() + 2
