"""Panels of code: their background with the language above, and buttons that copy exactly the code.

`CodeButtons` keeps one button for each panel of a message, at the trailing end of the line that the panel
leaves free above itself: real buttons, so that the keyboard and a screen reader find them. Knows nothing
about documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QGuiApplication, QPainter
from PySide6.QtWidgets import QPushButton, QWidget

from app.views.tokens import UNIT, Tokens

HEADER_HEIGHT = UNIT * 3
"""What a panel leaves free above itself, in pixels."""

_RADIUS = 6
_TOLD_MS = 2_000


@dataclass(frozen=True, slots=True)
class CodePanel:
    """A panel of code in a message: what it holds and where it stands, in pixels, without its header."""

    code: str
    language: str
    place: QRect

    def header(self) -> QRect:
        """Where language and button stand."""
        return QRect(self.place.x(), self.place.y() - HEADER_HEIGHT, self.place.width(), HEADER_HEIGHT)


class CodeButton(QPushButton):
    """Copies the code of one panel."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("codeCopy")
        self._code = ""
        self.clicked.connect(self._copy)
        self._offer()
        self.resize(self.sizeHint())

    def show_panel(self, panel: CodePanel) -> None:
        """Stand above `panel`."""
        if panel.code != self._code or not self.accessibleName():
            self._code = panel.code
            self._offer()
            name = self.tr("Copy code, {0}, {1} lines") if panel.language else self.tr("Copy code, {1} lines")
            self.setAccessibleName(name.format(panel.language, f"{panel.code.count(chr(10)) + 1:,}"))
        header = panel.header()
        # Code is left to right in any language, and so is what stands above it.
        middle = header.center().y() + UNIT // 2
        self.move(header.right() - self.width() - UNIT // 2, middle - self.height() // 2 + 1)
        self.show()

    def _offer(self) -> None:
        self.setText(self.tr("Copy"))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._code)
        self.setText(self.tr("Copied"))
        self.resize(self.sizeHint().expandedTo(self.size()))
        QTimer.singleShot(_TOLD_MS, self, self._offer)


class CodeButtons:
    """The buttons of one message, over `canvas`."""

    def __init__(self, canvas: QWidget) -> None:
        self._canvas = canvas
        self._buttons: list[CodeButton] = []

    def show_panels(self, panels: Sequence[CodePanel]) -> None:
        """Have one button above each of `panels`."""
        while len(self._buttons) < len(panels):
            self._buttons.append(CodeButton(self._canvas))
        for button in self._buttons[len(panels) :]:
            button.hide()
            button.deleteLater()
        del self._buttons[len(panels) :]
        for button, panel in zip(self._buttons, panels, strict=True):
            button.show_panel(panel)

    def all(self) -> list[QPushButton]:
        """From top to bottom."""
        return list(self._buttons)


def paint_panels(painter: QPainter, panels: Sequence[CodePanel], exposed: QRect, tokens: Tokens) -> None:
    """Paint the ground of the panels within `exposed`, and their languages."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for panel in panels:
        header = panel.header()
        whole = header.united(panel.place)
        if whole.intersects(exposed):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.code))
            painter.drawRoundedRect(QRectF(whole), _RADIUS, _RADIUS)
            painter.setPen(QColor(tokens.muted))
            text = header.adjusted(UNIT, UNIT // 2, -UNIT * 8, UNIT // 2)
            flags = (
                Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute | Qt.AlignmentFlag.AlignVCenter
            )
            painter.drawText(
                text,
                flags,
                painter.fontMetrics().elidedText(panel.language, Qt.TextElideMode.ElideRight, text.width()),
            )
