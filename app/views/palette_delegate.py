"""How a row of the command palette looks: what it is called, what it belongs to, its keys.

Rows of a `PaletteItemModel` go in. A command that cannot be chosen is muted, with the reason in place of
its group. Knows nothing about clicks and keys.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.data.stored_message import ChatSummary
from app.item_models.palette_item_model import OFFER_ROLE, Offer
from app.views.chat_list_delegate import TEXT_MARGIN, in_own_direction
from app.views.shortcuts import isolated
from app.views.tokens import UNIT, current_tokens

_Index = QModelIndex | QPersistentModelIndex


class PaletteDelegate(QStyledItemDelegate):
    """The title begins where the words begin, the rest ends where they end."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """The row's background by the style sheet, the texts here."""
        self.initStyleOption(option, index)
        option.text = ""
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        offer: Offer = index.data(OFFER_ROLE)
        area = option.rect.adjusted(TEXT_MARGIN, 0, -TEXT_MARGIN, 0)
        painter.save()
        painter.setFont(option.font)
        painter.setLayoutDirection(option.direction)
        for words, colour in self._at_the_end(offer):
            area = _draw_at_end(painter, area, words, colour)
        colour = current_tokens().muted if _is_unavailable(offer) else current_tokens().text
        _draw(painter, area, in_own_direction(index.data()), colour, Qt.AlignmentFlag.AlignLeading)
        painter.restore()

    def _at_the_end(self, offer: Offer) -> list[tuple[str, str]]:
        """Words and their colours, from the edge on."""
        tokens = current_tokens()
        if isinstance(offer, ChatSummary):
            return [(self.tr("Chat"), tokens.muted)]
        if offer.unavailable_because:
            return [(offer.unavailable_because, tokens.muted)]
        keys = isolated(offer.shortcut) if offer.shortcut else ""
        return [
            (words, colour) for words, colour in ((keys, tokens.text), (offer.group, tokens.muted)) if words
        ]


def _is_unavailable(offer: Offer) -> bool:
    return not isinstance(offer, ChatSummary) and bool(offer.unavailable_because)


def _draw_at_end(painter: QPainter, area: QRect, words: str, colour: str) -> QRect:
    """Draw `words` at the end of `area`, on half of it at most; returns what is left of it."""
    width = min(painter.fontMetrics().horizontalAdvance(words) + UNIT // 2, area.width() // 2)
    used = width + UNIT * 2
    if painter.layoutDirection() is Qt.LayoutDirection.RightToLeft:
        place, rest = QRect(area.left(), area.top(), width, area.height()), area.adjusted(used, 0, 0, 0)
    else:
        place = QRect(area.right() - width + 1, area.top(), width, area.height())
        rest = area.adjusted(0, 0, -used, 0)
    _draw(painter, place, words, colour, Qt.AlignmentFlag.AlignTrailing)
    return rest


def _draw(painter: QPainter, area: QRect, words: str, colour: str, side: Qt.AlignmentFlag) -> None:
    painter.setPen(QColor(colour))
    shown = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, area.width())
    painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | side, shown)
