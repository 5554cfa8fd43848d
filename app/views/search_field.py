"""The field that the chats are searched with.

Typing comes out with Qt's `textChanged`; leaving, and steering the list of what was found without
leaving the field, as signals. Knows nothing about searching.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from app.views.icons import icon
from app.views.leading_side import leading_side
from app.views.shortcuts import with_keys

_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 5, Qt.Key.Key_PageUp: -5}


class SearchField(QLineEdit):
    """One line with a magnifying glass, emptied by Esc."""

    left = Signal()
    """Esc was pressed: the field is empty now, and the focus may go back."""

    stepped = Signal(int)
    """Go so many rows down in what was found, up if negative."""

    confirmed = Signal()
    """Enter was pressed: open the chosen row."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("searchField")
        self.setPlaceholderText(self.tr("Search"))
        self.setAccessibleName(self.tr("Search all chats"))
        self.setToolTip(with_keys(self.tr("Search titles and messages of all chats"), "search"))
        self.setClearButtonEnabled(True)
        self._glass = self.addAction(QIcon(), QLineEdit.ActionPosition.LeadingPosition)
        self._glass.setText(self.tr("Search"))
        self._glass.setIcon(icon("search"))
        self._align()

    def event(self, event: QEvent) -> bool:
        """Esc belongs to this field while it has the focus, whatever the window would do with it."""
        if (
            event.type() is QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Steer the list, confirm, leave; everything else is text."""
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        key = Qt.Key(event.key())
        if key is Qt.Key.Key_Escape:
            self.clear()
            self.left.emit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.confirmed.emit()
        elif plain and key in _STEPS:
            self.stepped.emit(_STEPS[key])
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """A new theme has other colours, a window from right to left another side to begin at."""
        if event.type() is QEvent.Type.PaletteChange and hasattr(self, "_glass"):
            self._glass.setIcon(icon("search"))
        if event.type() is QEvent.Type.LayoutDirectionChange:
            self._align()
        super().changeEvent(event)

    def _align(self) -> None:
        # In a window from left to right Qt does well: a text from right to left begins on the right.
        side = leading_side(self) if self.isRightToLeft() else Qt.AlignmentFlag.AlignLeft
        self.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
