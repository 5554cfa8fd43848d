"""A button of the sidebar: a line drawing with words, or the drawing alone where there is no room.

Knows nothing about what the buttons do.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from app.views.icons import SIZE, icon
from app.views.tokens import UNIT

_MARGIN = UNIT // 2


class SidebarButton(QToolButton):
    """`words` is its accessible name too."""

    def __init__(self, drawing: str, words: str, tool_tip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._drawing = drawing
        self.set_words(words)
        self.setToolTip(tool_tip)
        self.setIcon(icon(drawing, _MARGIN))
        self.setIconSize(QSize(SIZE + 2 * _MARGIN, SIZE))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.set_compact(True)

    def set_words(self, words: str) -> None:
        """Say something else."""
        self.setText(words.replace("&", "&&"))
        self.setAccessibleName(words)

    def set_compact(self, compact: bool) -> None:
        """Show the drawing alone, as small as it is; else as wide as there is room."""
        styles = Qt.ToolButtonStyle
        self.setToolButtonStyle(styles.ToolButtonIconOnly if compact else styles.ToolButtonTextBesideIcon)
        width = QSizePolicy.Policy.Fixed if compact else QSizePolicy.Policy.Expanding
        self.setSizePolicy(width, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Of one height with and without words."""
        height = max(UNIT * 4, self.fontMetrics().height() + UNIT * 2)
        compact = self.toolButtonStyle() is Qt.ToolButtonStyle.ToolButtonIconOnly
        return QSize(height if compact else super().sizeHint().width(), height)

    def changeEvent(self, event: QEvent) -> None:
        """A new theme has other colours."""
        if event.type() is QEvent.Type.PaletteChange:
            self.setIcon(icon(self._drawing, _MARGIN))
        super().changeEvent(event)
