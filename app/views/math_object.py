"""A formula as one character of a document: its drawing, on the baseline of the line.

The drawing becomes an image that is sharp on its screen, kept in the character's format together with the
source, which is what copying gives. A formula wider than the text is drawn smaller. Qt lets an object
stand on the baseline, or with its middle a quarter of an x-height above it: what reaches no further down
than to the next line's letters hangs out of the first kind, deeper formulas are of the second.
Knows nothing about LaTeX.
"""

from __future__ import annotations

import functools
import math

from PySide6.QtCore import QByteArray, QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QImage,
    QPainter,
    QPyTextObject,
    QTextCharFormat,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer

from app.views.markdown_typesetting import FormulaDrawing

FORMULA = QTextFormat.ObjectTypes.UserObject + 1
"""The object type of a formula."""

SOURCE = QTextFormat.Property.UserProperty + 10
"""Of a formula: its LaTeX with delimiters, as it was written."""

_FREE = 0.35
"""Of a line's height: what lines of text leave free between them, about."""

_IMAGE = QTextFormat.Property.UserProperty + 11
_ASCENT = QTextFormat.Property.UserProperty + 12
_DESCENT = QTextFormat.Property.UserProperty + 13


def formula_letter(drawing: FormulaDrawing, source: str, font: QFont, scale: float) -> QTextCharFormat:
    """The format of an object character that shows `drawing` in text of `font`.

    `scale`: device pixels of one pixel.
    """
    form = QTextCharFormat()
    form.setObjectType(FORMULA)
    form.setFont(font)
    form.setProperty(SOURCE, source)
    form.setProperty(_IMAGE, _image(drawing, scale))
    form.setProperty(_ASCENT, float(math.ceil(drawing.ascent)))
    form.setProperty(_DESCENT, float(math.ceil(drawing.descent)))
    metrics = QFontMetricsF(font)
    if drawing.descent > metrics.descent() + metrics.height() * _FREE:
        form.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
    return form


class FormulaObject(QPyTextObject):
    """Measures and draws formulas for a document's layout."""

    def intrinsicSize(self, document: QTextDocument, _position: int, form: QTextFormat) -> QSizeF:
        """How much room the formula takes in its line."""
        width, ascent, descent = _measures(document, form)
        if not _is_deep(form):
            return QSizeF(width, ascent)
        half = _half_x_height(form)
        return QSizeF(width, max(2 * descent + half, 2 * ascent - half))

    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        document: QTextDocument,
        _position: int,
        form: QTextFormat,
    ) -> None:
        """Draw the formula where the layout put it."""
        width, ascent, descent = _measures(document, form)
        rect = QRectF(rect)
        baseline = rect.bottom()
        if _is_deep(form):
            baseline = rect.top() + (rect.height() + _half_x_height(form)) / 2
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        # On whole pixels: between them it would be blurred.
        corner = QPointF(round(rect.left()), round(baseline - ascent))
        painter.drawImage(QRectF(corner, QSizeF(width, ascent + descent)), form.property(_IMAGE))


def _measures(document: QTextDocument, form: QTextFormat) -> tuple[float, float, float]:
    """Width, ascent and descent, small enough for the text's width."""
    image: QImage = form.property(_IMAGE)
    width = image.width() / image.devicePixelRatio()
    available = document.textWidth()
    factor = min(1.0, available / width) if available > 0 else 1.0
    return width * factor, form.doubleProperty(_ASCENT) * factor, form.doubleProperty(_DESCENT) * factor


def _is_deep(form: QTextFormat) -> bool:
    return form.toCharFormat().verticalAlignment() == QTextCharFormat.VerticalAlignment.AlignMiddle


def _half_x_height(form: QTextFormat) -> float:
    # As QTextDocumentLayout reckons it.
    return QFontMetrics(form.toCharFormat().font()).xHeight() / 2


@functools.lru_cache(maxsize=128)
def _image(drawing: FormulaDrawing, scale: float) -> QImage:
    """The drawing on whole pixels, its baseline between two of them."""
    above, height = math.ceil(drawing.ascent), drawing.ascent + drawing.descent
    size = QSizeF(math.ceil(drawing.width), above + math.ceil(drawing.descent)) * scale
    image = QImage(size.toSize(), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(scale)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    place = QRectF(0, above - drawing.ascent, drawing.width, height)
    QSvgRenderer(QByteArray(drawing.svg.encode())).render(painter, place)
    painter.end()
    return image
