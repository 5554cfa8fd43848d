"""How a place that a search found looks: the chat's title, and the text around the match.

Rows of a `FoundItemModel` go in. Knows nothing about clicks and keys.
"""

from __future__ import annotations

from PySide6.QtCore import QDateTime, QLocale, QModelIndex, QPersistentModelIndex, QRectF, QSize
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.data.stored_message import Found
from app.item_models.found_item_model import FOUND_ROLE
from app.views.chat_list_delegate import TEXT_MARGIN
from app.views.marked_text import draw_marked, lead_in
from app.views.tokens import UNIT, current_tokens

N_LINES = 2
"""Lines of an excerpt."""

_LATEST = 1e11
_Index = QModelIndex | QPersistentModelIndex


class FoundDelegate(QStyledItemDelegate):
    """A title, and below it N_LINES lines of a message, or the day of a chat that is found by its title."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """As wide as there is room."""
        n_lines = 2 if index.data(FOUND_ROLE).message_id is None else 1 + N_LINES
        return QSize(0, n_lines * option.fontMetrics.lineSpacing() + UNIT * 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """The row's background by the style sheet, the texts here."""
        self.initStyleOption(option, index)
        option.text = ""
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        area = QRectF(option.rect).adjusted(TEXT_MARGIN, UNIT, -TEXT_MARGIN, -UNIT)
        painter.save()
        painter.setClipRect(area)
        painter.setLayoutDirection(option.direction)
        self._draw_texts(painter, area, option.font, index)
        painter.restore()

    def _draw_texts(self, painter: QPainter, area: QRectF, font: QFont, index: _Index) -> None:
        found: Found = index.data(FOUND_ROLE)
        in_title = found.message_id is None
        strong = QFont(font)
        strong.setWeight(QFont.Weight.DemiBold)
        title, title_marks = (found.excerpt, found.marks) if in_title else (index.data(), ())
        painter.setPen(QColor(current_tokens().text))
        height = draw_marked(painter, area, strong, title, title_marks)
        below, marks = (_day_of(found), ()) if in_title else lead_in(found.excerpt, found.marks)
        painter.setPen(QColor(current_tokens().muted))
        draw_marked(painter, area.adjusted(0, height, 0, 0), font, below, marks, n_lines=N_LINES)


def _day_of(found: Found) -> str:
    seconds = max(0.0, min(found.chat.updated_at, _LATEST))
    day = QDateTime.fromSecsSinceEpoch(int(seconds)).date()
    return QLocale().toString(day, QLocale.FormatType.ShortFormat)
