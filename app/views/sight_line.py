"""The line above which the model does not see, with the reason in plain words.

A `Sight` goes in. The words never promise a memory of what stands above, for there is none. It knows
nothing about where it stands.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QToolTip, QWidget

from app.item_models.sight import Sight
from app.views.tokens import UNIT, current_tokens


class SightLine(QPushButton):
    """A dashed line with a sentence in it; pressing it says why."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._short = ""
        self.setObjectName("sightLine")
        self.setCursor(Qt.CursorShape.WhatsThisCursor)
        self.clicked.connect(self._explain)

    def show_sight(self, sight: Sight) -> None:
        """Say what is not seen."""
        sentence = self._sentence(sight)
        self._short = self.tr("not seen above: {0}").format(f"{sight.n_unseen:,}")
        self.setText(self.tr("{0} \N{EN DASH} why?").format(sentence))
        self.setAccessibleName(sentence)
        explanation = self._explanation(sight)
        self.setAccessibleDescription(explanation)
        self.setToolTip(f"<qt>{explanation}</qt>")  # rich text, so that it is broken into lines
        self.update()

    def sizeHint(self) -> QSize:
        """One line of text with air around it."""
        return QSize(super().sizeHint().width(), self.fontMetrics().height() + UNIT * 2)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The sentence between two dashed lines; a frame where the keyboard is."""
        tokens = current_tokens()
        painter = QPainter(self)
        text = self._fitting(self.width() - UNIT * 5)
        half = self.fontMetrics().horizontalAdvance(text) // 2 + UNIT
        centre = self.rect().center()
        painter.setPen(QPen(QColor(tokens.warning_border), 1, Qt.PenStyle.DashLine))
        painter.drawLine(QPoint(0, centre.y()), QPoint(centre.x() - half, centre.y()))
        painter.drawLine(QPoint(centre.x() + half, centre.y()), QPoint(self.width(), centre.y()))
        painter.setPen(QColor(tokens.warning))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, text)
        if self.hasFocus():
            painter.setPen(QColor(tokens.accent))
            frame = self.rect().adjusted(centre.x() - half, 2, half - centre.x(), -2)
            painter.drawRoundedRect(frame, 6, 6)
        painter.end()

    def _fitting(self, room: int) -> str:
        """As much of the sentence as there is room for, in pixels."""
        metrics = self.fontMetrics()
        for text in (self.text(), self.accessibleName(), self._short):
            if metrics.horizontalAdvance(text) <= room:
                return text
        return metrics.elidedText(self._short, Qt.TextElideMode.ElideRight, room)

    def event(self, event: QEvent) -> bool:
        """Keep the hand-painted line true to the theme."""
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
        return super().event(event)

    def _sentence(self, sight: Sight) -> str:
        unseen, above = f"{sight.n_unseen:,}", f"{sight.n_above:,}"
        if sight.n_unseen < sight.n_above:
            what = self.tr("{0} of the {1} messages above").format(unseen, above)
        elif sight.n_unseen == 1:
            what = self.tr("the message above")
        else:
            what = self.tr("the {0} messages above").format(unseen)
        if sight.is_forecast:
            return self.tr("with your next message, the model will not see {0}").format(what)
        return self.tr("the model no longer sees {0}").format(what)

    def _explanation(self, sight: Sight) -> str:
        several = self.tr("these {0} messages").format(f"{sight.n_unseen:,}")
        what = self.tr("this message") if sight.n_unseen == 1 else several
        if sight.is_forecast:
            begin = self.tr(
                "With your next message the model reads the chat from below this line on, because no more "
                "of it fits into its context. It will know nothing of {0}, unless it also stands below or "
                "in a pinned message."
            )
        else:
            begin = self.tr(
                "The context is full, and the oldest messages have left it. The model knows nothing of {0}, "
                "unless it also stands below or in a pinned message."
            )
        rest = self.tr(
            "If it answers as if it did, it is guessing. Nothing was deleted: you can still read all of it "
            "here. To bring something back, pin its message or write it again."
        )
        return f"{begin.format(what)} {rest}"

    def _explain(self) -> None:
        QToolTip.showText(self.mapToGlobal(QPoint(self.width() // 4, self.height())), self.toolTip(), self)
