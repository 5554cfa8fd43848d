"""The bars beside quotes and the bullets of items, painted over a document: Qt's bullets touch the text.

Only the blocks inside the exposed rectangle are looked at. Knows nothing about texts.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QTextBlock, QTextDocument, QTextListFormat

from app.views.markdown_style import BULLETS, INDENT, QUOTE_BARS
from app.views.tokens import UNIT, Tokens

_WIDTH = 3.0
_BULLET_GAP = UNIT
_BULLET_SIZE = 0.62
"""Of the height of a small letter."""


def paint_marks(painter: QPainter, document: QTextDocument, exposed: QRectF, tokens: Tokens) -> None:
    """Paint the bars and bullets within `exposed`, in the document's coordinates."""
    layout = document.documentLayout()
    block = document.findBlock(
        layout.hitTest(QPointF(0, exposed.top()), Qt.HitTestAccuracy.FuzzyHit)
    ).previous()
    block = block if block.isValid() else document.begin()
    while block.isValid():
        bounds = layout.blockBoundingRect(block)
        if bounds.top() > exposed.bottom():
            break
        if bars := block.blockFormat().intProperty(QUOTE_BARS):
            _paint_bars(painter, document, block, bars, QColor(tokens.border))
        items = block.textList()
        if items and items.format().style() in BULLETS and not block.blockFormat().marker().value:
            _paint_bullet(painter, block, items.format().style(), QColor(tokens.text))
        block = block.next()


def _paint_bullet(painter: QPainter, block: QTextBlock, style: QTextListFormat.Style, colour: QColor) -> None:
    layout = block.layout()
    if not layout.lineCount():
        return
    line, metrics = layout.lineAt(0), QFontMetricsF(layout.font())
    text = line.naturalTextRect().translated(layout.position())
    size = metrics.xHeight() * _BULLET_SIZE
    is_right_to_left = block.textDirection() == Qt.LayoutDirection.RightToLeft
    x = text.right() + _BULLET_GAP if is_right_to_left else text.left() - _BULLET_GAP - size
    y = layout.position().y() + line.y() + line.ascent() - (metrics.xHeight() + size) / 2
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colour, 1))
    if style != QTextListFormat.Style.ListCircle:
        painter.setBrush(colour)
    place = QRectF(x, y, size, size)
    if style == QTextListFormat.Style.ListSquare:
        painter.fillRect(place, colour)
    else:
        painter.drawEllipse(place)
    painter.restore()


def _paint_bars(
    painter: QPainter, document: QTextDocument, block: QTextBlock, bars: int, colour: QColor
) -> None:
    layout = document.documentLayout()
    top = layout.blockBoundingRect(block).top()
    bottom = layout.blockBoundingRect(block).bottom()
    following = block.next()
    shared = following.blockFormat().intProperty(QUOTE_BARS) & bars if following.isValid() else 0
    for step in range(bars.bit_length()):
        if bars >> step & 1:
            x = step * INDENT + UNIT / 2
            if block.textDirection() == Qt.LayoutDirection.RightToLeft:
                x = document.textWidth() - x - _WIDTH
            end = layout.blockBoundingRect(following).top() if shared >> step & 1 else bottom
            painter.fillRect(QRectF(x, top, _WIDTH, max(end, bottom) - top), colour)
