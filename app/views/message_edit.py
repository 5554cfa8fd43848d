"""The box in which a message is written.

Plain text goes in and out; keys become signals. Promises: Enter sends, Shift+Enter and Ctrl+Enter break
the line, and Enter that ends a composition of an input method does neither; text stays as it was typed or
pasted, however long it and its lines are, and so does the time that a key takes; each paragraph reads in
its own direction; pasted files are offered, never opened. It knows nothing about chats.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, QSize, QStringListModel, Qt, QTimer, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QFocusEvent,
    QInputMethodEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QShowEvent,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.data.message_text import clean_text
from app.views.leading_side import leading_side
from app.views.sent_history import SentHistory
from app.views.soft_breaks import MARK, broken, joined
from app.views.tokens import UNIT

MAX_LINES = 10
"""How many lines the box shows before it scrolls; fewer where they are a third of the window."""

MAX_PASTED_CHARACTERS = 2_000_000
MAX_PASTED_LINES = 50_000
"""A longer text is offered as a file instead: it would make the window slow."""

_MARGIN = UNIT // 2
_ENTER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_HISTORY_KEYS = (Qt.Key.Key_Up, Qt.Key.Key_Down)
_BREAKS_LINE = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier
_LOCAL_HOSTS = ("", "localhost")


class MessageEdit(QPlainTextEdit):
    """The box itself. Made of Qt's plain text edit, which lays out only what is in sight."""

    submitted = Signal()
    """Enter was pressed, and meant sending."""

    files_pasted = Signal(list)
    """Paths of local files that were pasted, as strings."""

    long_text_pasted = Signal(str)
    """A text that is too long for the box was pasted, and is not in it."""

    focus_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.history = SentHistory()
        self._composing = False
        self._wanted = 0
        self._hint = self.tr("Write a message")
        self.setTabChangesFocus(True)
        self.setAccessibleName(self.tr("Message"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)  # it would count as text when Qt looks how many lines fit
        self.setViewportMargins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
        self.document().setDefaultTextOption(_directions())
        self._growing = QTimer(self)  # not at once: while a text is being set its size changes many times
        self._growing.setSingleShot(True)
        self._growing.timeout.connect(self._grow)
        self.document().documentLayout().documentSizeChanged.connect(lambda _size: self._growing.start(0))
        self._grow()

    def text(self) -> str:
        """What is written, character for character."""
        return joined(self.document().toRawText())  # toPlainText makes no-break spaces ordinary ones

    def set_text(self, text: str) -> None:
        """Replace the whole text and put the cursor at its end; it cannot be undone."""
        self.setPlainText(broken(clean_text(text)))
        self.moveCursor(QTextCursor.MoveOperation.End)

    # --- pasting ----------------------------------------------------------------------------------

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Files and text."""
        return bool(local_files(source)) or source.hasText()

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste plain text only; files are offered."""
        if files := local_files(source):
            self.files_pasted.emit(files)
            return
        pasted = clean_text(source.text())
        if len(pasted) > MAX_PASTED_CHARACTERS or pasted.count("\n") > MAX_PASTED_LINES:
            self.long_text_pasted.emit(pasted)
            return
        self.textCursor().insertText(broken(pasted))
        self.ensureCursorVisible()

    def createMimeDataFromSelection(self) -> QMimeData:
        """What is copied: the text without marked breaks."""
        selected = self.textCursor().selectedText()
        if MARK not in selected:
            return super().createMimeDataFromSelection()
        data = _empty_data()
        data.setText(joined(selected))
        return data

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files are for the frame around to take."""
        if local_files(event.mimeData()):
            event.ignore()
        else:
            super().dragEnterEvent(event)

    # --- keys -------------------------------------------------------------------------------------

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """Note whether an input method has an unfinished word here."""
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter sends, unless a line break is meant or a composition is under way; Up brings back."""
        if self._composing:
            super().keyPressEvent(event)
        elif event.key() in _ENTER_KEYS:
            if event.modifiers() & _BREAKS_LINE:
                self.textCursor().insertBlock()
                self.ensureCursorVisible()
            else:
                self.submitted.emit()
            event.accept()
        elif event.key() in _HISTORY_KEYS and self._recall(event):
            event.accept()
        else:
            self._leave_break(event)
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

    def _recall(self, event: QKeyEvent) -> bool:
        """Show what was sent before or after; False where the key moves the cursor as usual."""
        up = event.key() == Qt.Key.Key_Up
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier or not self._at_edge(up):
            return False
        text = self.history.older(self.text()) if up else self.history.newer(self.text())
        if text is not None:
            self.set_text(text)
        return text is not None

    def _at_edge(self, top: bool) -> bool:
        """Whether no line is above the cursor, or below."""
        cursor = self.textCursor()
        direction = QTextCursor.MoveOperation.Up if top else QTextCursor.MoveOperation.Down
        return not cursor.movePosition(direction)

    def _leave_break(self, event: QKeyEvent) -> None:
        """What is typed between a mark and its break would make that a real one: type behind the break."""
        cursor = self.textCursor()
        if event.text() and self.document().characterAt(cursor.position() - 1) == MARK:
            cursor.movePosition(QTextCursor.MoveOperation.NextCharacter)
            if not self.textCursor().hasSelection():
                self.setTextCursor(cursor)

    # --- its size and its hint --------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """The text, or the hint where lines of the window begin: Qt's starts at the left in each."""
        super().paintEvent(event)
        if self.document().isEmpty() and not self._composing:
            painter = QPainter(self.viewport())
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            option = _directions()
            option.setAlignment(leading_side(self))
            painter.drawText(QRectF(self.viewport().rect()), self._hint, option)
            painter.end()

    def showEvent(self, event: QShowEvent) -> None:
        """Another window has another height."""
        super().showEvent(event)
        self.window().installEventFilter(self)
        self._growing.start(0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """When the window gets higher or lower, so may the box."""
        if event.type() == QEvent.Type.Resize and watched is self.window():
            self._growing.start(0)
        return super().eventFilter(watched, event)

    def changeEvent(self, event: QEvent) -> None:
        """Another font needs another height."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._growing.start(0)

    def sizeHint(self) -> QSize:
        """As high as the text, within bounds."""
        return QSize(super().sizeHint().width(), self._wanted)

    def minimumSizeHint(self) -> QSize:
        """One line, where a small window has no room for more."""
        return QSize(super().minimumSizeHint().width(), self._around() + self.fontMetrics().lineSpacing())

    def _grow(self) -> None:
        highest, height = self._highest(), 0.0
        block = self.document().firstBlock()
        while block.isValid() and height <= highest:  # what is further down is not laid out for this
            height += self.blockBoundingRect(block).height()
            block = block.next()
        scrolls = height > highest
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(policy.ScrollBarAsNeeded if scrolls else policy.ScrollBarAlwaysOff)
        self._wanted = round(min(height, highest)) + self._around()
        self.setMaximumHeight(self._wanted)
        self.updateGeometry()
        if not scrolls:
            self.verticalScrollBar().setValue(0)  # the box was smaller when the cursor went to the end

    def _around(self) -> int:
        return 2 * (self.frameWidth() + _MARGIN)

    def _highest(self) -> int:
        line = self.fontMetrics().lineSpacing()
        fitting = self.window().height() // 3 // line if self.isVisible() else MAX_LINES
        return line * max(1, min(MAX_LINES, fitting))


def local_files(source: QMimeData) -> list[str]:
    """The paths of the files on this machine that are being pasted or dropped; [] for anything else."""
    urls = source.urls() if source.hasUrls() else []
    return [url.toLocalFile() for url in urls if url.isLocalFile() and url.host() in _LOCAL_HOSTS]


def _empty_data() -> QMimeData:
    """Data that Qt made: what Python makes, the clipboard would destroy after Python has ended, and crash."""
    model = QStringListModel([""])
    data = model.mimeData([model.index(0)])
    for form in data.formats():
        data.removeFormat(form)
    return data


def _directions() -> QTextOption:
    """Each paragraph in the direction of its first strong character, and beginning at that side."""
    option = QTextOption()
    option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    # To the left alone would hold for every paragraph. To the left and justified is, for Qt's layout,
    # not justified, but to the right where the text runs from there.
    option.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignJustify)
    return option
