"""A few lines of text with parts of it marked, drawn by hand.

Text with the places that match goes in; letters in the accent colour and strong come out. Each text runs
in its own direction and stands at the edge where the painter's direction begins. Knows nothing about
what is shown, or where it was found.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QTextCharFormat, QTextLayout, QTextOption

from app.views.tokens import current_tokens

LEAD = 24
"""How many characters of an excerpt are shown before the first match at most."""

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
Marks = Sequence[tuple[int, int]]
"""Places [start, end) in a text, in characters."""


def lead_in(excerpt: str, marks: Marks) -> tuple[str, Marks]:
    """The excerpt from shortly before its first mark on, at the start of a word, with its marks."""
    start = marks[0][0] if marks else 0
    if start <= LEAD:
        return excerpt, marks
    cut = excerpt.find(" ", start - LEAD, start) + 1 or start
    shift = len(ELLIPSIS) - cut
    return ELLIPSIS + excerpt[cut:], [(first + shift, last + shift) for first, last in marks]


def draw_marked(
    painter: QPainter, area: QRectF, font: QFont, text: str, marks: Marks, *, n_lines: int = 1
) -> float:
    """Draw at most `n_lines` lines with the painter's pen, dots at the end if there are more.

    Returns their height in pixels.
    """
    right = painter.layoutDirection() is Qt.LayoutDirection.RightToLeft
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    option = QTextOption(side | Qt.AlignmentFlag.AlignAbsolute)
    option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
    modes = QTextOption.WrapMode
    option.setWrapMode(modes.WrapAnywhere if n_lines == 1 else modes.WrapAtWordBoundaryOrAnywhere)
    layout = _layout(font, text, marks, option)
    n_fitting = _break(layout, area.width(), n_lines)
    if n_fitting < _length(text):
        text = _first(text, n_fitting - 2).rstrip() + ELLIPSIS
        layout = _layout(font, text, marks, option)
        _break(layout, area.width(), n_lines)
    layout.draw(painter, area.topLeft())
    return layout.boundingRect().height()


def _layout(font: QFont, text: str, marks: Marks, option: QTextOption) -> QTextLayout:
    layout = QTextLayout(text, font)
    layout.setTextOption(option)
    layout.setFormats([_format(_length(text[:start]), _length(text[start:end])) for start, end in marks])
    return layout


def _break(layout: QTextLayout, width: float, n_lines: int) -> int:
    """Break the text into at most `n_lines` lines; returns how many UTF-16 units they hold."""
    height, n_fitting = 0.0, 0
    layout.beginLayout()
    for _ in range(n_lines):
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(width)
        line.setPosition(QPointF(0, height))
        height += line.height()
        n_fitting = line.textStart() + line.textLength()
    layout.endLayout()
    return n_fitting


def _format(start: int, length: int) -> QTextLayout.FormatRange:
    look = QTextCharFormat()
    look.setForeground(QColor(current_tokens().accent))
    look.setFontWeight(QFont.Weight.Bold)
    marked = QTextLayout.FormatRange()
    marked.start, marked.length, marked.format = start, length, look
    return marked


def _length(text: str) -> int:
    """In UTF-16 units, which Qt counts in: an emoji is two of them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _first(text: str, n_units: int) -> str:
    return text.encode("utf-16-le", "surrogatepass")[: max(0, n_units) * 2].decode("utf-16-le", "ignore")
