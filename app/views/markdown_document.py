"""A reply that grows, as a document that grows with it.

`show` takes the text, `write_on` writes some of it and says whether more is to do. What is settled, because
nothing that follows can change it, is neither parsed nor laid out again: a reply costs its last blocks
each time it grows. Whatever the pieces, the document ends as if it had been written at once. A text that
is too complex raises `TooComplex` and is to be shown literally. It knows nothing about widgets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from markdown_it.token import Token
from PySide6.QtGui import QFont, QTextCharFormat, QTextCursor, QTextDocument

from app.views.code_header import CodePanel
from app.views.markdown_blocks import Block, blocks_of, n_settled
from app.views.markdown_parsing import References, TooComplex, parse, references
from app.views.markdown_places import Places
from app.views.markdown_style import style_for
from app.views.markdown_typesetter import Typesetter
from app.views.markdown_typesetting import Task
from app.views.markdown_writer import CODE, Mark, MarkdownWriter
from app.views.math_object import FORMULA, FormulaObject
from app.views.message_document import empty_document
from app.views.tokens import Tokens

SLICE = 8_000
SLICE_LINES = 300
"""Characters and lines that are parsed and written at once: a few hundredths of a second."""

_MAX_DOUBLINGS = 1
"""How often a slice may be doubled until it holds the whole of a list, quote or table."""

MAX_PANELS = 200
"""Panels of code in one message: each has a button."""

_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Written:
    """A block that may still change, and where it begins in the document."""

    block: Block
    mark: Mark

    def shifted(self, position: int, difference: int) -> _Written:
        """The block after the text at `position` has grown by `difference`."""
        if self.mark.position <= position:
            return self
        return replace(self, mark=replace(self.mark, position=self.mark.position + difference))


class MarkdownDocument:
    """Owns a document. `scale`: device pixels of one pixel, for formulas."""

    def __init__(self, font: QFont, tokens: Tokens, typesetter: Typesetter, scale: float) -> None:
        self.document: QTextDocument = empty_document(font)
        self._style = style_for(font, tokens)
        self._places = Places(self.document, self._style, typesetter, scale)
        self._formulas = FormulaObject(self.document)
        self.document.documentLayout().registerHandler(FORMULA, self._formulas)
        self.text = ""
        self._n_fences = 0
        self._references: References = {}
        self._settled = ""
        self._is_fresh = True
        self._number: int | None = None
        self._blocks: list[_Written] = []
        self._start_over()

    def show(self, text: str) -> None:
        """From now on show `text`, whose lines end with `\\n`."""
        known = references(text)
        if known != self._references or not text.startswith(self._settled):
            self._references = known
            self._start_over()
        self.text = text
        self._n_fences = len(_FENCE.findall(text))

    def write_on(self) -> bool:
        """Write the next slice; whether there is more. Raises TooComplex."""
        if self._n_fences > 2 * MAX_PANELS:  # before many of them are written for nothing
            raise TooComplex
        source, is_all, blocks, settled = self._next_slice()
        n_panels = sum(token.type in CODE for block in blocks for token in block.tokens)
        if len(self._places.code) + n_panels > MAX_PANELS + len(self._blocks):
            raise TooComplex
        cursor = QTextCursor(self.document)
        cursor.beginEditBlock()
        self._write(cursor, blocks if is_all else blocks[:settled])
        cursor.endEditBlock()
        if settled:
            lines = source.split("\n")[: blocks[settled].line]
            self._settled += "".join(f"{line}\n" for line in lines)
            self._number = blocks[settled].number
            del self._blocks[:settled]
        return not is_all

    def awaits(self, task: Task) -> bool:
        """Whether the document waits for `task`."""
        return self._places.awaits(task)

    def take(self, tasks: list[Task]) -> bool:
        """Put results in their places; whether that may change the height."""
        cursor = QTextCursor(self.document)
        cursor.beginEditBlock()
        changes = [change for task in tasks for change in self._places.take(task)]
        cursor.endEditBlock()
        for position, difference in changes:
            self._blocks = [block.shifted(position, difference) for block in self._blocks]
        return bool(changes)

    def panels(self) -> list[CodePanel]:
        """The panels of code, once the document is laid out."""
        layout = self.document.documentLayout()
        found = []
        for place in self._places.code:
            frame = self.document.frameAt(place.start)
            form = frame.frameFormat()
            bounds = layout.frameBoundingRect(frame)
            bounds.adjust(form.leftMargin(), form.topMargin(), -form.rightMargin(), -form.bottomMargin())
            found.append(CodePanel(place.code, place.language, bounds.toAlignedRect()))
        return found

    def _start_over(self) -> None:
        cursor = QTextCursor(self.document)
        cursor.beginEditBlock()
        self._cut(cursor, Mark(0, is_fresh=True))
        cursor.endEditBlock()
        self._settled = ""
        self._number = None
        self._blocks = []

    def _next_slice(self) -> tuple[str, bool, list[Block], int]:
        """The source of the next slice, whether it is the last, its blocks, and how many are settled."""
        begin, doublings = len(self._settled), 0
        while True:
            end = self._slice_end(begin, 2**doublings)
            source, is_all = self.text[begin:end], end == len(self.text)
            blocks = blocks_of(parse(source, self._references), source, self._number)
            settled = n_settled(blocks, source)
            if is_all or settled:
                return source, is_all, blocks, settled
            if doublings >= _MAX_DOUBLINGS and not (blocks and blocks[0].tokens[0].type in CODE):
                raise TooComplex
            doublings += 1

    def _slice_end(self, begin: int, factor: int) -> int:
        end = begin
        for _ in range(SLICE_LINES * factor):
            end = self.text.find("\n", end) + 1
            if not end:
                end = len(self.text)
                break
        return min(end, begin + SLICE * factor)

    def _write(self, cursor: QTextCursor, blocks: list[Block]) -> None:
        """Write `blocks` behind what is settled, but for those at the beginning that stand there already."""
        same = 0
        while same < min(len(blocks), len(self._blocks)) and blocks[same].tokens == self._tokens(same):
            same += 1
        if same == len(blocks) - 1 == len(self._blocks) - 1 and self._extend_code(cursor, blocks[same]):
            return
        if same < len(self._blocks):
            self._cut(cursor, self._blocks[same].mark)
            del self._blocks[same:]
        cursor.movePosition(QTextCursor.MoveOperation.End)
        writer = MarkdownWriter(cursor, self._style, self._places, is_fresh=self._is_fresh)
        for block in blocks[same:]:
            self._blocks.append(_Written(block, writer.mark()))
            writer.write(block.tokens)
        self._is_fresh = writer.mark().is_fresh

    def _tokens(self, number: int) -> list[Token]:
        return self._blocks[number].block.tokens

    def _extend_code(self, cursor: QTextCursor, block: Block) -> bool:
        """If the last block is code that has only grown, write what is new; whether it was so."""
        old, new = self._tokens(-1)[0], block.tokens[0]
        before, code = old.content.removesuffix("\n"), new.content.removesuffix("\n")
        is_same = new.type == "fence" and (old.type, old.info) == (new.type, new.info)
        if not is_same or not code.startswith(before) or not self._places.code:
            return False
        place = self._places.code[-1]
        if place.code != before:
            return False
        cursor.setPosition(self.document.frameAt(place.start).lastPosition())
        cursor.insertText(code[len(before) :], self._style.code_letters())
        self._places.extend_code(place, code)
        self._blocks[-1] = _Written(block, self._blocks[-1].mark)
        return True

    def _cut(self, cursor: QTextCursor, mark: Mark) -> None:
        """Remove everything from `mark` on."""
        cursor.setPosition(mark.position)
        form = cursor.blockFormat()
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        cursor.setBlockFormat(self._style.gap() if mark.is_fresh else form)
        if mark.is_fresh:
            cursor.setBlockCharFormat(QTextCharFormat())
        self._places.forget_after(mark.position)
        self._is_fresh = mark.is_fresh
