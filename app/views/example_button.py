"""A button with a sentence on it, which breaks into two lines where there is no room for one.

Knows nothing about what the sentence is for.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QStyle, QStyleOptionButton, QStylePainter, QWidget

from app.views.chat_list_delegate import in_own_direction
from app.views.tokens import UNIT

_MARGIN = UNIT * 7 // 4
_N_LINES = 2


class ExampleButton(QPushButton):
    """As high as two lines, as wide as there is room."""

    def __init__(self, words: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = words
        self.setObjectName("example")
        self.setAccessibleName(words)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Room for the sentence on two lines."""
        width = self.fontMetrics().horizontalAdvance(self.words) * 2 // 3
        return QSize(width + 2 * _MARGIN, self.minimumSizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Some words of it."""
        return QSize(UNIT * 20, _N_LINES * self.fontMetrics().lineSpacing() + UNIT * 2)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The button by the style sheet, the sentence here: buttons know one line only."""
        option = QStyleOptionButton()
        self.initStyleOption(option)
        painter = QStylePainter(self)
        painter.drawControl(QStyle.ControlElement.CE_PushButtonBevel, option)
        painter.setPen(option.palette.buttonText().color())
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading | Qt.TextFlag.TextWordWrap
        painter.drawText(self.rect().adjusted(_MARGIN, 0, -_MARGIN, 0), flags, in_own_direction(self.words))
        painter.end()
