"""Where the user writes: a box that grows with its text, and Send or Stop.

Text and wishes come out as signals, drafts go in with `set_text`. Promises: Enter sends, Shift+Enter
breaks the line, and Enter that ends a composition of an input method does neither; blank text is
not sent; a pasted line of any length is laid out in linear time. It knows nothing about chats.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QInputMethodEvent, QKeyEvent, QTextOption
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QTextEdit, QVBoxLayout, QWidget

from app.views.message_document import has_long_line
from app.views.tokens import UNIT

MAX_LINES = 10
"""How many lines the box shows before it scrolls."""

LARGE_PASTE = 5_000
"""Characters from which on a pasted text takes the quick way."""

_ENTER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_BREAKS_LINE = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


class MessageEdit(QTextEdit):
    """The box itself: plain text, each paragraph in the direction of its first strong character."""

    submitted = Signal()
    """Enter was pressed, and meant sending."""

    focus_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._composing = False
        self.setTabChangesFocus(True)
        self.setPlaceholderText(self.tr("Write a message"))
        self.setAccessibleName(self.tr("Message"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(UNIT // 2)
        self.setAcceptRichText(False)
        # Not at once: while a long text is being laid out its size changes many times.
        self._growing = QTimer(self)
        self._growing.setSingleShot(True)
        self._growing.timeout.connect(self._grow)
        self.document().documentLayout().documentSizeChanged.connect(lambda _size: self._growing.start(0))
        self._grow()

    def set_text(self, text: str) -> None:
        """Replace the whole text and put the cursor at its end."""
        self._replace(text, len(text))

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste plain text only."""
        pasted, cursor = source.text(), self.textCursor()
        if len(pasted) < LARGE_PASTE:
            cursor.insertText(pasted)
            self.ensureCursorVisible()
            return
        # Qt inserts 20,000 lines ten times slower than it takes a whole new text; only Undo is lost.
        text, start, end = self.toPlainText(), cursor.selectionStart(), cursor.selectionEnd()
        self._replace(text[:start] + pasted + text[end:], start + len(pasted))

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """Note whether an input method has an unfinished word here."""
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter sends, unless a line break is meant or a composition is under way."""
        if event.key() in _ENTER_KEYS and not self._composing:
            if event.modifiers() & _BREAKS_LINE:
                self.textCursor().insertBlock()
                self.ensureCursorVisible()
            else:
                self.submitted.emit()
            event.accept()
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Tell the frame around."""
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """A composition ends with the focus."""
        self._composing = False
        super().focusOutEvent(event)
        self.focus_changed.emit(False)

    def changeEvent(self, event: QEvent) -> None:
        """Another font needs another height."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._growing.start(0)

    def sizeHint(self) -> QSize:
        """As high as the text, within bounds."""
        return QSize(super().sizeHint().width(), self.height())

    def _replace(self, text: str, position: int) -> None:
        if has_long_line(text):
            # Breaking at words takes quadratic time: 100 s for a line of a million characters.
            self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        if len(text) >= LARGE_PASTE:
            self._show_height(scrolls=True)  # before the text is there, or it is laid out twice
        self.setPlainText(text)
        cursor = self.textCursor()
        cursor.setPosition(min(position, self.document().characterCount() - 1))
        self.setTextCursor(cursor)

    def _grow(self) -> None:
        # Asking for the size of a long text would lay out all of it.
        document = self.document()
        is_long = document.blockCount() > MAX_LINES or document.characterCount() > LARGE_PASTE
        self._show_height(scrolls=is_long or document.size().height() > self._highest())

    def _highest(self) -> int:
        return MAX_LINES * self.fontMetrics().lineSpacing() + 2 * int(self.document().documentMargin())

    def _show_height(self, *, scrolls: bool) -> None:
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(policy.ScrollBarAlwaysOn if scrolls else policy.ScrollBarAlwaysOff)
        height = self._highest() if scrolls else int(self.document().size().height())
        self.setFixedHeight(height + 2 * self.frameWidth() + 1)


class Composer(QFrame):
    """The box with its button."""

    text_changed = Signal(str)
    send_requested = Signal()
    stop_requested = Signal()
    cancel_edit_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._running = False
        self.edit = MessageEdit(self)
        self.button = QPushButton(self)
        self.button.setObjectName("send")
        self.button.clicked.connect(self._on_button)
        self.editing = QLabel()
        self.editing.setObjectName("editing")
        self.editing.setWordWrap(True)
        self.editing.setIndent(UNIT // 2)
        self.editing.hide()
        row = QHBoxLayout()
        row.setSpacing(UNIT)
        row.addWidget(self.edit, 1)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignBottom)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT, UNIT, UNIT, UNIT)
        column.setSpacing(UNIT // 2)
        column.addWidget(self.editing)
        column.addLayout(row)
        self.setFocusProxy(self.edit)
        self.edit.submitted.connect(self._on_submitted)
        self.edit.textChanged.connect(self._on_text_changed)
        self.edit.focus_changed.connect(self._show_focus)
        self._show_button()

    def text(self) -> str:
        """What is written."""
        return self.edit.toPlainText()

    def set_text(self, text: str) -> None:
        """Show a draft; nothing happens where it is shown already."""
        if text != self.text():
            self.edit.set_text(text)

    def show_editing(self, number: int | None) -> None:
        """Say which message of the chat is being edited, counted from 1; None for none."""
        note = self.tr("Editing message {0}: what came after it will be put aside. Esc leaves it as it was.")
        self.editing.setText(note.format(f"{number:,}") if number else "")
        self.editing.setVisible(number is not None)
        self.edit.setAccessibleDescription(self.editing.text())

    def escape(self) -> None:
        """Escape leaves an edit, or else stops the reply."""
        if self.editing.isHidden():
            self.stop_requested.emit()
        else:
            self.cancel_edit_requested.emit()

    def set_running(self, running: bool) -> None:
        """While a reply is being written the button stops it; writing goes on being possible."""
        self._running = running
        self._show_button()

    def _on_text_changed(self) -> None:
        self._show_button()
        self.text_changed.emit(self.text())

    def _on_submitted(self) -> None:
        if not self._running and self._has_text():
            self.send_requested.emit()

    def _on_button(self) -> None:
        if self._running:
            self.stop_requested.emit()
        else:
            self._on_submitted()

    def _has_text(self) -> bool:
        return bool(self.text().strip())

    def _show_button(self) -> None:
        name = self.tr("Stop") if self._running else self.tr("Send")
        hint = self.tr("Stop the reply (Esc)") if self._running else self.tr("Send the message (Enter)")
        self.button.setEnabled(self._running or self._has_text())
        if self.button.text() != name:
            self.button.setText(name)
            self.button.setToolTip(hint)
            self.button.setAccessibleName(name)
            self.button.setProperty("stop", self._running)
            self.button.style().unpolish(self.button)
            self.button.style().polish(self.button)

    def _show_focus(self, focused: bool) -> None:
        self.setProperty("active", focused)
        self.style().unpolish(self)
        self.style().polish(self)
