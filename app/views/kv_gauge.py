"""The KV cache as a button with a bar of parts: sinks and pins, the window, other chats, free.

Counts of cells go in; a press asks for the whole picture. It is painted only when the counts have changed.
It knows nothing about what the cells hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QStyle, QWidget

from app.views.gauge_label import SpokenText, tabular
from app.views.number_format import NOT_AVAILABLE, fraction
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


class KvGauge(QAbstractButton):
    """A word, a bar that fills from the leading edge, and the cells in use of all."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.parts = KvParts()
        self._spoken = SpokenText(self)
        self.setObjectName("kvGauge")
        self.setCheckable(True)  # while the panel that it opens is there
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.setAccessibleName(self.tr("KV cache fill"))
        self.setText(self.tr("KV"))
        self.show_parts(KvParts(), "", is_running=False)

    def show_parts(self, parts: KvParts, explanation: str, *, is_running: bool) -> None:
        """Show the parts, with what they mean in words; without cells it is an empty bar."""
        cells = self.tr("{0} of {1} cells").format(f"{parts.n_used:,}", f"{parts.n_cells:,}")
        words = "; ".join(filter(None, (cells if parts.n_cells else NOT_AVAILABLE, explanation)))
        self._spoken.tell(words, is_running=is_running)
        hint = self.tr(
            "KV cache: what the model remembers of the chats, in tokens (pieces of words). When it is full, "
            "the oldest messages leave it. Press for the whole picture (Ctrl+J)."
        )
        tip = f"<qt>{escape(words)}<br><br>{hint}</qt>"
        if tip != self.toolTip():
            self.setToolTip(tip)
        if parts == self.parts:
            return
        has_grown = parts.n_cells != self.parts.n_cells
        self.parts = parts
        if has_grown:
            self.updateGeometry()
        self.update()

    def count(self) -> str:
        """The cells in use of all, as they are written beside the bar."""
        if self.parts.n_cells <= 0:
            return NOT_AVAILABLE
        return f"{self.parts.n_used:,}/{self.parts.n_cells:,}"

    def sizeHint(self) -> QSize:
        """Wide enough for a full cache, so that it keeps its width while it fills."""
        return QSize(self._width(UNIT * 12), self.fontMetrics().height() + UNIT)

    def minimumSizeHint(self) -> QSize:
        """The bar may be shorter."""
        return QSize(self._width(UNIT * 4), self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Another font needs another width."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.updateGeometry()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The frame of a button that is pointed at or has the focus, the word, the bar, the count."""
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QColor(tokens.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.raised) if self._is_raised() else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(frame, 6, 6)
        painter.setFont(tabular(self.font()))
        painter.setPen(QColor(tokens.text if self.parts.n_cells else tokens.muted))
        inside = self.rect().adjusted(UNIT, 0, -UNIT, 0)
        n_word, n_count = self._advance(self.text()), self._advance(self.count())
        self._write(painter, QRect(inside.left(), 0, n_word, self.height()), self.text())
        self._write(painter, QRect(inside.right() - n_count + 1, 0, n_count, self.height()), self.count())
        track = inside.adjusted(n_word + UNIT, 0, -self._advance(self._full()) - UNIT, 0)
        track.setTop(self.height() // 2 - UNIT // 2)
        track.setHeight(UNIT)
        self._paint_bar(painter, self._mirrored(track))
        painter.end()

    def _paint_bar(self, painter: QPainter, track: QRect) -> None:
        tokens, parts = current_tokens(), self.parts
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(track), 3, 3)
        painter.fillPath(outline, QColor(tokens.border))
        painter.setClipPath(outline)
        x = 0
        for count, colour in (
            (parts.n_sinks, tokens.sinks),
            (parts.n_window, tokens.accent),
            (parts.n_others, tokens.muted),
        ):
            if count > 0:  # what is there is seen, however little it is
                width = max(2, round(track.width() * fraction(count, parts.n_cells)))
                piece = QRect(track.left() + x, track.top(), width, track.height())
                painter.fillRect(QStyle.visualRect(self.layoutDirection(), track, piece), QColor(colour))
                x += width

    def _is_raised(self) -> bool:
        return self.underMouse() or self.isChecked() or self.isDown()

    def _write(self, painter: QPainter, place: QRect, text: str) -> None:
        painter.drawText(self._mirrored(place), Qt.AlignmentFlag.AlignCenter, text)

    def _mirrored(self, place: QRect) -> QRect:
        return QStyle.visualRect(self.layoutDirection(), self.rect(), place)

    def _width(self, bar: int) -> int:
        return UNIT * 4 + self._advance(self.text()) + bar + self._advance(self._full())

    def _full(self) -> str:
        """The widest count that there can be."""
        n_cells = self.parts.n_cells
        return f"{n_cells:,}/{n_cells:,}" if n_cells else NOT_AVAILABLE

    def _advance(self, text: str) -> int:
        return self.fontMetrics().horizontalAdvance(text) + 2
