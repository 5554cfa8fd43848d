"""How one row of the chat list looks: a title, or a heading above a group of them.

Rows of a `GroupedChatsItemModel` go in. All rows are equally high, so that thousands of chats are laid
out at once. Knows nothing about clicks and keys.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QLineEdit, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.item_models.grouped_chats_item_model import GROUP_ROLE
from app.views.tokens import UNIT, current_tokens

TEXT_MARGIN = UNIT * 7 // 4
"""Where the style sheet lets the titles begin."""


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
