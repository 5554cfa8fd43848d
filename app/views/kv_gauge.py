"""The KV cache as a bar of parts: sinks and pins, the window, other chats, free.

Counts of cells go in. It knows nothing about what the cells hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.views.number_format import fraction
from app.views.tokens import UNIT, current_tokens


@dataclass(frozen=True, slots=True)
class KvParts:
    """Cells: what stays of the open chat, what may leave, what other chats hold, and all there are."""

    n_sinks: int = 0
    n_window: int = 0
    n_others: int = 0
    n_cells: int = 0

    @property
    def n_used(self) -> int:
        """Cells that are not free."""
        return self.n_sinks + self.n_window + self.n_others


class KvGauge(QWidget):
    """A bar that fills from the left."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.parts = KvParts()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("KV cache fill"))

    def show_parts(self, parts: KvParts, explanation: str) -> None:
        """Show the parts, with what they mean in words; without cells it is an empty bar."""
        self.parts = parts
        cells = self.tr("{0} of {1} cells").format(f"{parts.n_used:,}", f"{parts.n_cells:,}")
        self.setAccessibleDescription("; ".join(filter(None, (cells, explanation))))
        self.setToolTip(f"<qt>{explanation}</qt>" if explanation else "")
        self.update()

    def sizeHint(self) -> QSize:
        """Small enough to stand in a line of text."""
        return QSize(UNIT * 12, UNIT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The track, and the parts one after the other."""
        tokens, parts = current_tokens(), self.parts
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        outline = QPainterPath()
        outline.addRoundedRect(track, 3, 3)
        painter.fillPath(outline, QColor(tokens.border))
        painter.setClipPath(outline)
        left = track.left()
        for count, colour in (
            (parts.n_sinks, tokens.sinks),
            (parts.n_window, tokens.accent),
            (parts.n_others, tokens.muted),
        ):
            width = track.width() * fraction(count, parts.n_cells)
            if count > 0:
                width = max(2.0, width)  # what is there is seen, however little it is
                painter.fillRect(QRectF(left, track.top(), width, track.height()), QColor(colour))
                left += width
        painter.end()
