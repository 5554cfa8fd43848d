"""The text of one message as a widget without scroll bars, as high as its text.

Text goes in with `show_text`, a height for a width comes out, and `rendered` tells that the height
may have changed. While a reply is being written, renderings are spaced so that they take less than
a fifth of the time, however long the reply is; a long text is written slice by slice. A very long message
shows its beginning and a link to all of it. Links are opened after a question. It knows nothing about
chats or scrolling.
"""

from __future__ import annotations

from time import monotonic

from PySide6.QtCore import QEvent, QMimeData, QRectF, QStringListModel, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QFont,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QTextCursor,
    QTextDocument,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QPushButton, QTextBrowser, QWidget

from app.views.code_header import CodeButtons, CodePanel, paint_panels
from app.views.link_box import ask_about_link
from app.views.markdown_document import MarkdownDocument
from app.views.markdown_marks import paint_marks
from app.views.markdown_parsing import TooComplex
from app.views.markdown_selection import selected_text
from app.views.markdown_typesetter import typesetter
from app.views.markdown_typesetting import Task
from app.views.message_document import blank_image, displayable, has_long_line, plain_document
from app.views.tokens import Tokens, current_tokens

SHOWN_AT_FIRST = 60_000
"""Characters of a message that are laid out without being asked for."""

_MIN_PAUSE = 0.04
_PAUSE_FACTOR = 5.0
_TYPESET_PAUSE_MS = 60
"""Formulas that are done within this time are put in their places together."""

_KEYS_OF_THE_TRANSCRIPT = frozenset({Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End})


class MessageBody(QTextBrowser):
    """Shows one message's text."""

    rendered = Signal()
    """The text was laid out anew; ask for the height again."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._drawn_with: tuple[Tokens, QFont, float] | None = None
        self._written: MarkdownDocument | None = None
        self._typeset: list[Task] = []
        self._panels: list[CodePanel] = []
        self._buttons = CodeButtons(self.viewport())
        self.setObjectName("messageBody")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        self.anchorClicked.connect(self._ask_to_open)
        self._adopt(plain_document("", self.font()))
        self._text = ""
        self._markdown = True
        self._whole = False
        self._next_rendering = 0.0
        self.n_sharing = 1
        self._timer = self._make_timer(self._render)
        self._slices = self._make_timer(self._write_on)
        self._typeset_timer = self._make_timer(self._take_typeset)
        typesetter().ready.connect(self._on_typeset)

    def show_text(self, text: str, *, markdown: bool, streaming: bool) -> None:
        """Show `text`; while `streaming` it may appear a moment later, else at once."""
        if text == self._text and markdown == self._markdown and not self._timer.isActive():
            return
        self._text, self._markdown = text, markdown
        wait = self._next_rendering - monotonic()
        if not streaming or wait <= 0:
            self._timer.stop()
            self._render()
        elif not self._timer.isActive():
            self._timer.start(int(wait * 1000) + 1)

    def share_time(self, n_sharing: int) -> None:
        """So many texts grow at once, this one among them; together they take the time of one."""
        self.n_sharing = n_sharing

    def original(self) -> str:
        """The text as it was given, for copying."""
        return self._text

    def show_whole(self) -> None:
        """Lay out all of a very long message."""
        self._whole = True
        self._render()

    def hidden_characters(self) -> int:
        """How many characters at the end are not shown yet."""
        return 0 if self._whole else max(0, len(self._text) - SHOWN_AT_FIRST)

    def fit(self, width: int) -> int:
        """Take `width` pixels and return the height in pixels that the text needs."""
        if self.document().textWidth() != width:  # Qt would lay out all of it again
            self.document().setTextWidth(width)
        height = int(self.document().size().height()) + 1
        self.setFixedSize(width, height)
        self._panels = self._written.panels() if self._written else []
        self._buttons.show_panels(self._panels)
        return height

    def code_buttons(self) -> list[QPushButton]:
        """The buttons that copy code, from top to bottom, for the order of the Tab key."""
        return self._buttons.all()

    def loadResource(self, _kind: int, _url: QUrl | str) -> object:
        """Nothing in a message is ever fetched, neither from disk nor from a network."""
        return blank_image()

    def createMimeDataFromSelection(self) -> QMimeData:
        """A selection is copied as plain text, formulas as their LaTeX."""
        copied = _empty_mime_data()
        copied.setText(selected_text(self.textCursor()))
        return copied

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave scrolling to the transcript."""
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave keys that scroll to the transcript, unless they select."""
        if event.key() in _KEYS_OF_THE_TRANSCRIPT and not event.modifiers():
            event.ignore()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The grounds of code and the bars of quotes, and the text over them."""
        if self._written is not None:
            painter = QPainter(self.viewport())
            paint_panels(painter, self._panels, event.rect(), current_tokens())
            paint_marks(painter, self.document(), QRectF(event.rect()), current_tokens())
            painter.end()
        super().paintEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Colours and sizes are part of the document: make it anew when they change."""
        super().changeEvent(event)
        changes = (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.DevicePixelRatioChange)
        if event.type() in changes and self._drawn_with not in (None, self._looks()):
            self._timer.start(0)

    def _make_timer(self, act: object) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(act)
        return timer

    def _looks(self) -> tuple[Tokens, QFont, float]:
        return current_tokens(), self.font(), self.devicePixelRatioF()

    def _render(self) -> None:
        text = displayable(self._text[: len(self._text) - self.hidden_characters()])
        if self._markdown and not has_long_line(text):
            self._show_markdown(text)
        else:
            self._show_plain(text)

    def _show_plain(self, text: str) -> None:
        began = monotonic()
        self._written = None
        self._slices.stop()
        self._drawn_with = self._looks()
        self._replace(plain_document(text, self.font()))
        self._rest(began)

    def _show_markdown(self, text: str) -> None:
        tokens, font, scale = looks = self._looks()
        if self._written is None or self._drawn_with != looks:
            self._drawn_with = looks
            self._written = MarkdownDocument(font, tokens, typesetter(), scale)
            self._written.document.setTextWidth(self.document().textWidth())
        self._written.show(text)
        self._write_on()

    def _write_on(self) -> None:
        """Write a slice of the Markdown, and the next one as soon as events allow."""
        written = self._written
        if written is None:
            return
        began = monotonic()
        cursor = self.textCursor()
        anchor, position = cursor.anchor(), cursor.position()
        try:
            has_more = written.write_on()
        except TooComplex:
            self._show_plain(written.text)
            return
        if written.document is not self.document():
            self._replace(written.document)
        else:
            self._select_again(anchor, position)
        if has_more:
            self._slices.start(0)
        self._rest(began)

    def _rest(self, began: float) -> None:
        self.rendered.emit()
        spent = monotonic() - began
        self._next_rendering = monotonic() + max(_MIN_PAUSE, _PAUSE_FACTOR * spent) * self.n_sharing

    def _replace(self, document: QTextDocument) -> None:
        cursor, old = self.textCursor(), self.document()
        anchor, position = cursor.anchor(), cursor.position()
        if document.textWidth() != old.textWidth():
            document.setTextWidth(old.textWidth())
        self._adopt(document)
        old.deleteLater()
        self._select_again(anchor, position)

    def _adopt(self, document: QTextDocument) -> None:
        document.setParent(self)
        mode = document.defaultTextOption().wrapMode()
        # The widget overrides the document's mode and lays out at once: never a long line at words.
        if mode == QTextOption.WrapMode.WrapAnywhere:
            self.setWordWrapMode(mode)
        self.setDocument(document)
        if mode != self.wordWrapMode():
            self.setWordWrapMode(mode)

    def _select_again(self, anchor: int, position: int) -> None:
        """Keep what the reader selected while the reply grows under the hand."""
        last = self.document().characterCount() - 1
        if anchor == position or max(anchor, position) > last:
            return
        cursor = self.textCursor()
        cursor.setPosition(anchor)
        cursor.setPosition(position, QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)

    def _on_typeset(self, task: Task) -> None:
        if self._written is not None and self._written.awaits(task):
            self._typeset.append(task)
            if not self._typeset_timer.isActive():
                self._typeset_timer.start(_TYPESET_PAUSE_MS)

    def _take_typeset(self) -> None:
        tasks, self._typeset = self._typeset, []
        if self._written is not None and self._written.take(tasks):
            self.rendered.emit()

    def _ask_to_open(self, url: QUrl) -> None:
        ask_about_link(url, self)


def _empty_mime_data() -> QMimeData:
    # Made by Qt: some platforms' clipboards outlive Python, and would call into it to delete its own.
    rows = QStringListModel([""])
    made = rows.mimeData([rows.index(0)])
    made.clear()
    return made
