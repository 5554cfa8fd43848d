"""The memory of one device as a bar: one piece for each use, named where there is room.

A `DeviceSplit` goes in. It is painted only when that has changed. The colours are also those of the legend.
"""

from __future__ import annotations

import functools

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QStyle, QWidget

from app.services.memory_split import DeviceSplit, Use
from app.views.memory_words import device_rows, device_title, use_in_words
from app.views.tokens import UNIT, Tokens, current_tokens

_LEAST_PX = 3


def use_colour(use: Use) -> QColor:
    """The colour of a use; those of the engine are shades of one."""
    return _colours(current_tokens())[use]


@functools.cache
def _colours(tokens: Tokens) -> dict[Use, QColor]:
    return {
        Use.WEIGHTS: QColor(tokens.accent),
        Use.KV: QColor(tokens.sinks),
        Use.STATE: _mixed(tokens.sinks, tokens.surface, 0.7),
        Use.COMPUTE: _mixed(tokens.accent, tokens.surface, 0.55),
        Use.ENGINE: _mixed(tokens.accent, tokens.surface, 0.3),
        Use.FILE_CACHE: _mixed(tokens.accent, tokens.surface, 0.15),
        Use.WEIR: _mixed(tokens.muted, tokens.surface, 0.4),
        Use.OTHERS: _mixed(tokens.muted, tokens.surface, 0.7),
        Use.SOMEBODY: _mixed(tokens.muted, tokens.surface, 0.7),
        Use.FREE: QColor(tokens.border),
    }


class MemoryBar(QWidget):
    """The bar, filled from the leading edge."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._split: DeviceSplit | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_split(self, split: DeviceSplit) -> None:
        """Show who has the memory of a device."""
        if split == self._split:
            return
        self._split = split
        self.setAccessibleName(device_title(split))
        self.setToolTip("\n".join(f"{row.name}: {row.figure}" for row in device_rows(split, None)))
        self.update()

    def sizeHint(self) -> QSize:
        """Any width, and a line of text high."""
        return QSize(UNIT * 24, self.fontMetrics().height() + UNIT // 2)

    def pieces(self) -> list[tuple[Use, QRect]]:
        """Where each part is, from the leading edge; what is there is seen, however little it is."""
        split = self._split
        if split is None:
            return []
        parts = [part for part in split.parts if part.n_bytes > 0]
        whole = max(split.total or 0, sum(part.n_bytes for part in parts), 1)
        left, pieces = self.width(), []
        x = 0
        for index, part in enumerate(parts):
            later = _LEAST_PX * (len(parts) - index - 1)
            width = max(_LEAST_PX, round(self.width() * part.n_bytes / whole))
            width = max(0, min(width, left - later))
            pieces.append((part.use, QRect(x, 0, width, self.height())))
            x, left = x + width, left - width
        return pieces

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The pieces, with a thin gap between two."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()), 4, 4)
        painter.setClipPath(outline)
        painter.fillRect(self.rect(), use_colour(Use.FREE))
        for use, piece in self.pieces():
            place = QStyle.visualRect(self.layoutDirection(), self.rect(), piece.adjusted(0, 0, -1, 0))
            colour = use_colour(use)
            painter.fillRect(place, colour)
            text = use_in_words(use)
            if painter.fontMetrics().horizontalAdvance(text) + UNIT <= place.width():
                painter.setPen(_readable_on(colour))
                painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
        painter.end()


def _mixed(colour: str, ground: str, share: float) -> QColor:
    """`share` of `colour`, the rest of `ground`."""
    one, two = QColor(colour), QColor(ground)
    return QColor.fromRgbF(
        *(
            a * share + b * (1 - share)
            for a, b in ((one.redF(), two.redF()), (one.greenF(), two.greenF()), (one.blueF(), two.blueF()))
        )
    )


def _readable_on(ground: QColor) -> QColor:
    """Black or white: one of them has a contrast of at least 4.5:1 to any colour (WCAG 2.1)."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (ground.redF(), ground.greenF(), ground.blueF())
    )
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return QColor(Qt.GlobalColor.black if luminance > 0.179 else Qt.GlobalColor.white)
