"""Text and small tables that can be selected, in a label that is renewed while it is read.

Lines and rows go in. Promises: what is selected is not taken away by newer figures, what has not changed is
not painted again, and the height of a width is counted once. Knows nothing about what the rows are about.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.views.gauge_label import isolated, tabular
from app.views.memory_words import Row

_CHARACTERS, _FEWEST_CHARACTERS = 48, 24
_GAP = "\N{NO-BREAK SPACE}" * 3


class SelectableText(QLabel):
    """A label of rich text; `plain` is what a screen reader is told of it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._html = ""
        self._heights: dict[int, int] = {}
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.setFont(tabular(self.font()))

    def show_lines(self, lines: Sequence[str]) -> None:
        """A paragraph for each line."""
        self._show("<br>".join(escape(line) for line in lines), lines)

    def show_rows(self, rows: Sequence[Row]) -> None:
        """A table: the name of each row, its figure."""
        lines = "".join(self._row(row) for row in rows)
        table = f"<table align='{self._leading()}' cellspacing='0' cellpadding='1'>{lines}</table>"
        self._show(table, [row.plain() for row in rows])

    def heightForWidth(self, width: int) -> int:
        """As the label's own; layouts ask ten times for each change, and each time the table is laid out."""
        if width not in self._heights:
            self._heights[width] = super().heightForWidth(width)
        return self._heights[width]

    def sizeHint(self) -> QSize:
        """So wide that nothing needs a second line; the label's own tries several widths."""
        width = self.fontMetrics().averageCharWidth() * _CHARACTERS
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        """So wide that no word is cut."""
        return QSize(self.fontMetrics().averageCharWidth() * _FEWEST_CHARACTERS, 0)

    def changeEvent(self, event: QEvent) -> None:
        """Another font, perhaps: other heights."""
        self._heights.clear()
        super().changeEvent(event)

    def _row(self, row: Row) -> str:
        name, figure = self._cell(row.name), self._cell(row.figure)
        cells = [
            f"<td align='{self._leading()}'>{name}</td>",
            # The gap stands within the cell: a column of its own would double what the layout costs.
            f"<td align='right'>{figure + _GAP if self._is_mirrored() else _GAP + figure}</td>",
        ]
        # Qt mirrors neither the columns of a table nor its place.
        return f"<tr>{''.join(reversed(cells) if self._is_mirrored() else cells)}</tr>"

    def _leading(self) -> str:
        return "right" if self._is_mirrored() else "left"

    def _cell(self, text: str) -> str:
        return escape(isolated(text) if self._is_mirrored() else text)

    def _is_mirrored(self) -> bool:
        return self.layoutDirection() is Qt.LayoutDirection.RightToLeft

    def _show(self, html: str, lines: Sequence[str]) -> None:
        if html != self._html and not self.hasSelectedText():
            self._html = html
            self._heights.clear()
            self.setAccessibleName("\n".join(lines))
            self.setText(html)
