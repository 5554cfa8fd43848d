"""Text and small tables that can be selected, in a label that is renewed while it is read.

Lines and rows go in. Promises: what is selected is not taken away by newer figures, and what has not
changed is not painted again. Knows nothing about what the rows are about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.services.memory_split import Use
from app.views.gauge_label import isolated, tabular
from app.views.memory_words import Row


class SelectableText(QLabel):
    """A label of rich text; `plain` is what a screen reader is told of it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._html = ""
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.setFont(tabular(self.font()))

    def show_lines(self, lines: Sequence[str]) -> None:
        """A paragraph for each line."""
        self._show("<br>".join(escape(line) for line in lines), lines)

    def show_rows(self, rows: Sequence[Row], colour_of: Callable[[Use], QColor] | None = None) -> None:
        """A table: a mark in the colour of each row's use, its name, its figure."""
        has_planned = any(row.planned for row in rows)
        if has_planned:
            rows = [Row("", self.tr("real"), planned=self.tr("planned")), *rows]
        lines = "".join(self._row(row, colour_of, has_planned=has_planned) for row in rows)
        table = f"<table align='{self._leading()}' cellspacing='0' cellpadding='1'>{lines}</table>"
        self._show(table, [row.plain() for row in rows if row.name])

    def _row(self, row: Row, colour_of: Callable[[Use], QColor] | None, *, has_planned: bool) -> str:
        name = f"<td align='{self._leading()}'>{self._cell(row.name)}</td>"
        gap = "<td>&nbsp;&nbsp;&nbsp;</td>"
        planned = [gap, f"<td align='right'>{self._cell(row.planned)}</td>"] if has_planned else []
        cells = [name, *planned, gap, f"<td align='right'>{self._cell(row.figure)}</td>"]
        if colour_of:
            colour = None if row.use is None else colour_of(row.use).name()
            mark = f"<font color='{colour}'>\N{BLACK SQUARE}</font>" if colour else ""
            cells = [f"<td>{mark}</td>", "<td>&nbsp;</td>", *cells]
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
            self.setAccessibleName("\n".join(lines))
            self.setText(html)
