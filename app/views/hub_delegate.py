"""How a found repository looks: its name above its figures.

Rows of a `HubItemModel` go in. All rows are equally high, so that thousands are laid out at once. Knows
nothing about clicks and keys.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.item_models.hub_item_model import REPO_ROLE
from app.views.chat_list_delegate import in_own_direction
from app.views.hub_words import repo_facts
from app.views.library_words import SEPARATOR
from app.views.tokens import UNIT, current_tokens
from engine.hub.hub_values import RepoSummary, WeightsFormat

_MARGIN = UNIT * 3 // 2
_Index = QModelIndex | QPersistentModelIndex


class HubDelegate(QStyledItemDelegate):
    """Two lines."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """As high as two lines."""
        return QSize(UNIT * 20, 2 * QFontMetrics(option.font).height() + UNIT * 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """The row's background by the style sheet, the texts here."""
        repo: RepoSummary = index.data(REPO_ROLE)
        self.initStyleOption(option, index)
        option.text = ""
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        painter.save()
        painter.setLayoutDirection(option.direction)
        area = option.rect.adjusted(_MARGIN, UNIT * 3 // 4, -_MARGIN, -UNIT * 3 // 4)
        height = QFontMetrics(option.font).height()
        painter.setFont(option.font)
        below = QRect(area.left(), area.bottom() - height + 1, area.width(), height)
        _text(painter, below, SEPARATOR.join(repo_facts(repo)), current_tokens().muted)
        strong = QFont(option.font)
        strong.setWeight(QFont.Weight.DemiBold)
        painter.setFont(strong)
        _text(painter, QRect(area.left(), area.top(), area.width(), height), repo.repo_id, _colour(repo))
        painter.restore()


def _colour(repo: RepoSummary) -> str:
    """What cannot be loaded stands back."""
    tokens = current_tokens()
    return tokens.text if repo.weights_format is WeightsFormat.GGUF else tokens.muted


def _text(painter: QPainter, area: QRect, words: str, colour: str) -> None:
    painter.setPen(QColor(colour))
    elide = Qt.TextElideMode.ElideRight
    text = painter.fontMetrics().elidedText(in_own_direction(words), elide, area.width())
    flags = Qt.TextFlag.TextSingleLine | Qt.TextFlag.TextDontClip  # of a descent that its font does not tell
    painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading | flags, text)
