"""Rows of two lines, all equally high, so that thousands are laid out at once.

A delegate says what stands in the lines; the row's background is the style sheet's. Knows nothing about
what the rows are of.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.views.chat_list_delegate import in_own_direction
from app.views.tokens import UNIT

MARGIN = UNIT * 3 // 2
Index = QModelIndex | QPersistentModelIndex

# Put together once: thousands of texts are drawn with them. Not clipped, since some letters reach lower than
# their font tells.
_FLAGS = int(Qt.AlignmentFlag.AlignVCenter) | int(Qt.TextFlag.TextSingleLine) | int(Qt.TextFlag.TextDontClip)
LEADING = _FLAGS | int(Qt.AlignmentFlag.AlignLeading)
TRAILING = _FLAGS | int(Qt.AlignmentFlag.AlignTrailing)


class TwoLineDelegate(QStyledItemDelegate):
    """Draws the background; `draw` draws the rest."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: Index) -> QSize:
        """As high as two lines."""
        return QSize(UNIT * 20, 2 * QFontMetrics(option.font).height() + UNIT * 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The row's background by the style sheet, the texts by `draw`."""
        self.initStyleOption(option, index)
        option.text = ""
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        painter.save()
        painter.setLayoutDirection(option.direction)
        painter.setFont(option.font)
        self.draw(painter, option, index)
        painter.restore()

    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the texts; the painter has the row's font and direction."""
        raise NotImplementedError


def lines(option: QStyleOptionViewItem) -> tuple[QRect, QRect]:
    """Where the two lines of a row stand."""
    area = option.rect.adjusted(MARGIN, UNIT * 3 // 4, -MARGIN, -UNIT * 3 // 4)
    height = QFontMetrics(option.font).height()
    upper, lower = QRect(area), QRect(area)
    upper.setHeight(height)
    lower.setTop(area.bottom() - height + 1)
    return upper, lower


def strong(font: QFont) -> QFont:
    """The same font, with more weight."""
    heavier = QFont(font)
    heavier.setWeight(QFont.Weight.DemiBold)
    return heavier


def draw_text(painter: QPainter, area: QRect, words: str, colour: str, flags: int = LEADING) -> None:
    """One line, shortened to the room there is."""
    painter.setPen(QColor(colour))
    elide = Qt.TextElideMode.ElideRight
    painter.drawText(
        area, flags, painter.fontMetrics().elidedText(in_own_direction(words), elide, area.width())
    )
