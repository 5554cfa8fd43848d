"""Documents that are safe to show, and plain text as one of them.

The promises: nothing is ever fetched, from disk or network; each paragraph takes its direction from its
first strong character; a line of any length is laid out in linear time. It knows nothing about widgets,
chats or Markdown.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QFont, QImage, QTextDocument, QTextOption

from app.views.markdown_style import INDENT, space_lines

LONG_LINE = 5_000
"""Characters from which on a line may break anywhere: breaking at words takes quadratic time."""


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
    return any(len(line) >= LONG_LINE for line in text.split("\n"))


def plain_document(text: str, font: QFont) -> QTextDocument:
    """A user's message as a document, literally."""
    document = empty_document(font)
    if has_long_line(text):
        option = document.defaultTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAnywhere)
        document.setDefaultTextOption(option)
    document.setPlainText(displayable(text))
    space_lines(document)
    return document


def empty_document(font: QFont) -> QTextDocument:
    """A document for the text of a message."""
    document = MessageDocument()
    document.setUndoRedoEnabled(False)
    document.setDocumentMargin(0)
    document.setIndentWidth(INDENT)
    document.setDefaultFont(font)
    option = document.defaultTextOption()
    option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    document.setDefaultTextOption(option)
    return document


def displayable(text: str) -> str:
    """Half a surrogate pair cannot become a Qt string, NUL would draw nothing; lines end with `\\n`."""
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text.replace("\r\n", "\n").replace("\r", "\n")
