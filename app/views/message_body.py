"""The text of one message as a widget without scroll bars, as high as its text.

Text goes in with `show_text`, a height for a width comes out, and `rendered` tells that the height
may have changed. While a reply is being written, renderings are spaced so that they take less than
a fifth of the time, however long the reply is. A very long message shows its beginning and a
link to all of it. Links open on a click only. It knows nothing about chats or scrolling.
"""

from __future__ import annotations

from time import monotonic

from PySide6.QtCore import QEvent, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QDesktopServices,
    QFont,
    QKeyEvent,
    QTextCursor,
    QTextDocument,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from app.views.message_document import blank_image, markdown_document, plain_document
from app.views.tokens import Tokens, current_tokens

SHOWN_AT_FIRST = 60_000
"""Characters of a message that are laid out without being asked for: about 0.1 s of work."""

_SCHEMES = frozenset({"http", "https", "mailto"})
_MIN_PAUSE = 0.04
_PAUSE_FACTOR = 5.0
_KEYS_OF_THE_TRANSCRIPT = frozenset({Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End})


def may_open(url: QUrl) -> bool:
    """Whether a link may leave Weir: web and mail addresses only, never files or scripts."""
    return url.scheme().lower() in _SCHEMES


class MessageBody(QTextBrowser):
    """Shows one message's text."""

    rendered = Signal()
    """The text was laid out anew; ask for the height again."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._drawn_with: tuple[Tokens, QFont] | None = None
        self.setObjectName("messageBody")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        self.anchorClicked.connect(self._open)
        self._adopt(plain_document("", self.font()))
        self._text = ""
        self._markdown = True
        self._whole = False
        self._next_rendering = 0.0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._render)

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
        self.document().setTextWidth(width)
        height = int(self.document().size().height()) + 1
        self.setFixedSize(width, height)
        return height

    def loadResource(self, _kind: int, _url: QUrl | str) -> object:
        """Nothing in a message is ever fetched, neither from disk nor from a network."""
        return blank_image()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave scrolling to the transcript."""
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave keys that scroll to the transcript, unless they select."""
        if event.key() in _KEYS_OF_THE_TRANSCRIPT and not event.modifiers():
            event.ignore()
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Colours and sizes are part of the document: make it anew when they change."""
        super().changeEvent(event)
        changes = (QEvent.Type.PaletteChange, QEvent.Type.FontChange)
        if event.type() in changes and self._drawn_with not in (None, self._looks()):
            self._timer.start(0)

    def _looks(self) -> tuple[Tokens, QFont]:
        return current_tokens(), self.font()

    def _render(self) -> None:
        began = monotonic()
        self._drawn_with = tokens, font = self._looks()
        text = self._text[: len(self._text) - self.hidden_characters()]
        width, cursor = self.document().textWidth(), self.textCursor()
        document = markdown_document(text, font, tokens) if self._markdown else plain_document(text, font)
        document.setTextWidth(width)
        old = self.document()
        self._adopt(document)
        old.deleteLater()
        self._select_again(cursor.anchor(), cursor.position())
        self.rendered.emit()
        spent = monotonic() - began
        self._next_rendering = monotonic() + max(_MIN_PAUSE, _PAUSE_FACTOR * spent)

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

    def _open(self, url: QUrl) -> None:
        if may_open(url):
            QDesktopServices.openUrl(url)
