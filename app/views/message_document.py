"""Text of a message -> a document that is safe to show.

Replies are Markdown (GitHub dialect, no HTML: what stands in angle brackets stays visible), user
messages plain text. The promises: nothing is ever fetched, from disk or network; each paragraph
takes its direction from its first strong character, code is always left to right; a line of any
length is laid out in linear time. It knows nothing about widgets, chats or streaming.
"""

from __future__ import annotations

import re

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QFont,
    QImage,
    QTextCharFormat,
    QTextDocument,
    QTextFormat,
    QTextOption,
)

from app.views.markdown_style import dress_markdown, space_lines
from app.views.tokens import UNIT, Tokens

LONG_LINE = 5_000
"""Characters from which on a line may break anywhere: breaking at words takes quadratic time."""

_LONG_LINE = re.compile(rf"[^\n]{{{LONG_LINE}}}")
_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML


class MessageDocument(QTextDocument):
    """A document that answers every request for a resource with an empty image."""

    def loadResource(self, _kind: int, _url: QUrl | str) -> object:
        """One transparent pixel: given nothing, Qt would try to open the name as a local file."""
        return blank_image()


def blank_image() -> QImage:
    """One transparent pixel."""
    image = QImage(1, 1, QImage.Format.Format_ARGB32)
    image.fill(0)
    return image


def has_long_line(text: str) -> bool:
    """Whether some line of `text` needs to break anywhere to be laid out in time."""
    return _LONG_LINE.search(text) is not None


def markdown_document(text: str, font: QFont, tokens: Tokens) -> QTextDocument:
    """A reply as a document; with a very long line it is shown as plain text."""
    if has_long_line(text):
        return plain_document(text, font)
    document = _empty_document(font)
    document.setMarkdown(_displayable(text), _FEATURES)
    _write_out_images(document)
    dress_markdown(document, tokens)
    return document


def plain_document(text: str, font: QFont) -> QTextDocument:
    """A user's message as a document, literally."""
    document = _empty_document(font)
    if has_long_line(text):
        option = document.defaultTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAnywhere)
        document.setDefaultTextOption(option)
    document.setPlainText(_displayable(text))
    space_lines(document)
    return document


def _empty_document(font: QFont) -> QTextDocument:
    document = MessageDocument()
    document.setUndoRedoEnabled(False)
    document.setDocumentMargin(0)
    document.setIndentWidth(UNIT * 3)
    document.setDefaultFont(font)
    option = document.defaultTextOption()
    option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    document.setDefaultTextOption(option)
    return document


def _displayable(text: str) -> str:
    """Half a surrogate pair cannot become a Qt string, and NUL would draw nothing."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _write_out_images(document: QTextDocument) -> None:
    """Put the address of each image in its place: a picture that is fetched tells its server who reads."""
    found = document.find("\N{OBJECT REPLACEMENT CHARACTER}")
    while not found.isNull():
        image = found.charFormat().toImageFormat()
        position = found.selectionEnd()
        if image.isValid():
            alternative = str(image.property(QTextFormat.Property.ImageAltText) or "").strip()
            written = f"[{alternative or 'image'}: {image.name()}]"
            plain = QTextCharFormat()
            plain.setFontItalic(True)
            position = found.selectionStart() + len(written)
            found.insertText(written, plain)
        found = document.find("\N{OBJECT REPLACEMENT CHARACTER}", position)
