"""How one row of the chat list looks: a title, with a dot while it is answered, or a heading above a group.

Rows of a `GroupedChatsItemModel` go in. All rows are equally high, so that thousands of chats are laid
out at once. Knows nothing about clicks and keys.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, Qt
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QLineEdit, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.item_models.chat_list_item_model import ANSWERING_ROLE
from app.item_models.grouped_chats_item_model import GROUP_ROLE
from app.views.tokens import UNIT, current_tokens

TEXT_MARGIN = UNIT * 7 // 4
"""Where the style sheet lets the titles begin."""

_DOT = 3.0
"""Pixels; its radius."""


def in_own_direction(text: str) -> str:
    """`text` so that a row which runs the other way does not move its full stops and brackets about."""
    return f"\N{FIRST STRONG ISOLATE}{text}"


def heading_font(font: QFont) -> QFont:
    """Smaller and stronger than the rows."""
    smaller = QFont(font)
    smaller.setWeight(QFont.Weight.DemiBold)
    if font.pointSizeF() > 0:
        smaller.setPointSizeF(font.pointSizeF() * 0.88)
    else:
        smaller.setPixelSize(round(font.pixelSize() * 0.88))
    return smaller


class ChatListDelegate(QStyledItemDelegate):
    """Headings are drawn here, chats by the style sheet."""

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Each title in its own direction."""
        super().initStyleOption(option, index)
        option.text = in_own_direction(option.text)

    def setEditorData(self, editor: QWidget, index: QModelIndex | QPersistentModelIndex) -> None:
        """A chat that changes while it is being renamed leaves what was typed alone."""
        if not (isinstance(editor, QLineEdit) and editor.isModified()):
            super().setEditorData(editor, index)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """A heading stands low in its row, near the chats that it is about."""
        if index.data(GROUP_ROLE) is None:
            super().paint(painter, option, index)
            if index.data(ANSWERING_ROLE):
                _paint_dot(painter, option)
            return
        painter.save()
        painter.setFont(heading_font(option.font))
        painter.setPen(QColor(current_tokens().muted))
        area = option.rect.adjusted(TEXT_MARGIN, 0, -TEXT_MARGIN, -UNIT // 2)
        painter.drawText(
            area,
            Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeading,
            painter.fontMetrics().elidedText(index.data(), Qt.TextElideMode.ElideRight, area.width()),
        )
        painter.restore()


def _paint_dot(painter: QPainter, option: QStyleOptionViewItem) -> None:
    """In the margin at the trailing end, where no title is: the chat is being answered."""
    is_mirrored = option.direction is Qt.LayoutDirection.RightToLeft
    edge = option.rect.left() if is_mirrored else option.rect.right()
    inwards = TEXT_MARGIN / 2 if is_mirrored else -TEXT_MARGIN / 2
    middle = QPointF(edge + inwards, option.rect.center().y() + 0.5)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(current_tokens().accent))
    painter.drawEllipse(middle, _DOT, _DOT)
    painter.restore()
