"""The field of a system prompt.

The text in force goes in; what the user writes comes out as soon as the typing rests, and at the latest
when the field is left or hidden. It knows nothing about presets.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QSize, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QHideEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QWidget

REST_MS = 400
"""So long nothing is typed until the text counts: storing it each time would make typing slow."""

LONGEST_PROMPT = 30_000
"""Characters; more is a file to attach, and as one long line takes too long to lay out."""


N_LINES = 6


class PromptEdit(QPlainTextEdit):
    """Plain text of a few lines; Tab leaves the field."""

    chosen = Signal(str)
    """The text, once the typing rests."""

    refused = Signal(bool)
    """Whether the text that was just put in would have been too long, and so was not."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stored = ""
        self._rest = QTimer(self, interval=REST_MS, singleShot=True)
        self._rest.timeout.connect(self.flush)
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.textChanged.connect(self._rest.start)

    def sizeHint(self) -> QSize:
        """Room for a few lines; more are scrolled."""
        around = 2 * (self.frameWidth() + int(self.document().documentMargin()))
        return QSize(super().sizeHint().width(), N_LINES * self.fontMetrics().lineSpacing() + around)

    def minimumSizeHint(self) -> QSize:
        """No less."""
        return QSize(0, self.sizeHint().height())

    def show_text(self, text: str) -> None:
        """Show what is stored; what is being typed stays."""
        if text == self._stored:
            return
        self._stored = text
        if text != self.toPlainText():
            blocked = self.blockSignals(True)
            self.setPlainText(text)
            self.blockSignals(blocked)
            self._rest.stop()

    def choose(self, text: str) -> None:
        """Put `text` in place of what is there, as if it had been typed: Undo brings that back."""
        cursor = self.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.flush()

    def flush(self) -> None:
        """Let what was typed count now."""
        self._rest.stop()
        if not self.document().isModified():
            return  # what was only shown may read otherwise here: non-breaking spaces become plain ones
        self.document().setModified(False)
        text = self.toPlainText()
        if text != self._stored:
            self._stored = text
            self.chosen.emit(text)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste, unless it is too much."""
        fits = self.document().characterCount() + len(source.text()) <= LONGEST_PROMPT
        if fits:
            super().insertFromMimeData(source)
        self.refused.emit(not fits)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """What was typed counts."""
        super().focusOutEvent(event)
        self.flush()

    def hideEvent(self, event: QHideEvent) -> None:
        """What was typed counts, also when the window is being closed."""
        super().hideEvent(event)
        self.flush()
