"""The bars beside quotes, painted over a document.

Only the blocks inside the exposed rectangle are looked at. Knows nothing about texts.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QTextBlock, QTextDocument

from app.views.markdown_style import INDENT, QUOTE_BARS
from app.views.tokens import UNIT, Tokens

_WIDTH = 3.0


def paint_quote_bars(painter: QPainter, document: QTextDocument, exposed: QRectF, tokens: Tokens) -> None:
    """Paint the bars of the quotes within `exposed`, in the document's coordinates."""
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
            _paint(painter, document, block, bars, QColor(tokens.border))
        block = block.next()


def _paint(painter: QPainter, document: QTextDocument, block: QTextBlock, bars: int, colour: QColor) -> None:
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
