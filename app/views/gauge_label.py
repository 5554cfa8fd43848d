"""One gauge of the strip: a short text whose place keeps its width while its numbers change.

Texts go in. Promises: it is painted again only when what it shows has changed, it never becomes narrower
for a shorter number, what is cut is whole in the tip, and a screen reader is told at most once in five
seconds while the numbers run. It knows nothing about what is measured.
"""

from __future__ import annotations

import enum
import re
import time
from collections.abc import Callable
from html import escape

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QWidget

from app.views.tokens import UNIT, current_tokens

SPOKEN_EVERY_S = 5.0
"""A reader that is told of each number never ends."""


class Look(enum.Enum):
    """How a value is meant."""

    NOW = "now"
    PAST = "past"  # measured earlier, or not at all
    STUCK = "stuck"  # something is expected and does not come


def tabular(font: QFont) -> QFont:
    """The font with digits that are all of the same width."""
    figures = QFont(font)
    figures.setFeature(QFont.Tag("tnum"), 1)
    return figures


def isolated(text: str) -> str:
    """The text in the direction of its own first letter, whatever stands around it (UAX #9, FSI and PDI)."""
    return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"


class SpokenText:
    """The accessible description of a widget, not renewed more often than people can listen."""

    def __init__(self, widget: QWidget, clock: Callable[[], float] = time.monotonic) -> None:
        self._widget = widget
        self._clock = clock
        self._told_at = -SPOKEN_EVERY_S

    def tell(self, text: str, *, is_running: bool) -> None:
        """Describe the widget as `text`; while the numbers run, only now and then."""
        if text == self._widget.accessibleDescription():
            return
        now = self._clock()
        if not is_running or now - self._told_at >= SPOKEN_EVERY_S:
            self._told_at = now
            self._widget.setAccessibleDescription(text)


class GaugeLabel(QLabel):
    """A text with a thin line before it, or one that `elides`: its end is cut where there is no room."""

    def __init__(self, name: str, hint: str, template: str, *, elides: bool = False) -> None:
        """The place is never narrower than `template`, with any digits."""
        super().__init__()
        # The texts are not given to QLabel: each would make the whole window compute its layout again.
        self._text = ""
        self.look = Look.PAST
        self._hint = ""
        self._least = self._template = self._widest = template
        self._elides = elides
        self._indent = 0 if elides else UNIT * 3 // 2
        self._spoken = SpokenText(self)
        self.setAccessibleName(name)
        self.show_hint(hint)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)

    def text(self) -> str:
        """What is shown."""
        return self._text

    def show_text(self, text: str, look: Look) -> None:
        """Show `text`; the place grows if it has to."""
        self._spoken.tell(text, is_running=look is Look.NOW)
        if (text, look) == (self._text, self.look):
            return
        self._text, self.look = text, look
        self._grow()
        self._show_tip()
        self.update()

    def show_hint(self, hint: str) -> None:
        """What the gauge means, line by line."""
        self._hint = hint
        self._show_tip()

    def reserve(self, template: str) -> None:
        """The place is as wide as `template`, with any digits, or as what is shown; not as older texts."""
        if template != self._template:
            self._template = self._widest = template
            self._grow()
            self.updateGeometry()

    def least_width(self) -> int:
        """What it needs to be there at all, in pixels."""
        return self._indent + self._width_of(self._least) if self._elides else self.sizeHint().width()

    def _show_tip(self) -> None:
        lines = (self._text, self._hint) if self._elides and self._text else (self._hint,)
        tip = f"<qt>{escape(chr(10).join(lines)).replace(chr(10), '<br>')}</qt>"
        if tip != self.toolTip():
            self.setToolTip(tip)

    def _grow(self) -> None:
        if self._width_of(self._text) > self._width_of(self._widest):
            self._widest = self._text
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        """The place for the template."""
        return QSize(self._indent + self._width_of(self._widest), self.fontMetrics().height() + UNIT // 2)

    def minimumSizeHint(self) -> QSize:
        """May shrink to nothing."""
        return QSize(0, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Another font needs another width."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.updateGeometry()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The line, and the text from the leading edge, cut where the place ends."""
        tokens = current_tokens()
        colour = {Look.NOW: tokens.text, Look.PAST: tokens.muted, Look.STUCK: tokens.warning}[self.look]
        painter = QPainter(self)
        painter.setFont(tabular(self.font()))
        if self._indent:
            line = QRect(0, self.height() // 4, 1, self.height() // 2)
            painter.fillRect(
                QStyle.visualRect(self.layoutDirection(), self.rect(), line), QColor(tokens.border)
            )
        place = self.rect().adjusted(self._indent, 0, 0, 0)
        place = QStyle.visualRect(self.layoutDirection(), self.rect(), place)
        text = painter.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideRight, place.width())
        leading = QStyle.visualAlignment(self.layoutDirection(), Qt.AlignmentFlag.AlignLeft)
        painter.setPen(QColor(colour))
        painter.drawText(place, leading | Qt.AlignmentFlag.AlignVCenter, isolated(text))
        painter.end()

    def _width_of(self, text: str) -> int:
        metrics = self.fontMetrics()
        return metrics.horizontalAdvance(re.sub(r"\d", "8", text)) + 2
