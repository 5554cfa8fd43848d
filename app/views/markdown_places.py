"""What stands in a document and is not finished: formulas that are set elsewhere, code that is coloured.

The writer asks for them with `ask` and notes where they stand; results are put in their places with
`take`. Positions are kept right while text in front of them changes. It knows nothing about Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextDocument, QTextLayout

from app.views.code_colours import code_formats
from app.views.markdown_style import MarkdownStyle
from app.views.markdown_typesetter import Typesetter
from app.views.markdown_typesetting import (
    FormulaDrawing,
    FormulaTask,
    HighlightedCode,
    HighlightTask,
    Task,
)
from app.views.math_object import formula_letter

MAX_HIGHLIGHTED = 20_000
"""Characters of code that is coloured; longer code is shown plain."""

_Lines = tuple[tuple[tuple[int, int, str], ...], ...]


@dataclass(slots=True)
class CodePlace:
    """A panel of code. `asked`: what is being coloured, perhaps less than the code by now."""

    start: int
    code: str
    language: str
    asked: HighlightTask | None = None
    lines: _Lines = ()


@dataclass(slots=True)
class FormulaPlace:
    """The source of a formula, to be replaced by its drawing."""

    start: int
    length: int
    task: FormulaTask
    source: str


class Places:
    """The unfinished places of one document, in order."""

    def __init__(
        self, document: QTextDocument, style: MarkdownStyle, typesetter: Typesetter, scale: float
    ) -> None:
        self._document, self._style = document, style
        self._typesetter, self._scale = typesetter, scale
        self.code: list[CodePlace] = []
        self._formulas: list[FormulaPlace] = []

    def forget_after(self, position: int) -> None:
        """What stands at `position` or later is gone."""
        self.code = [place for place in self.code if place.start < position]
        self._formulas = [place for place in self._formulas if place.start < position]

    def add_code(self, place: CodePlace) -> None:
        """A panel was written; colour it as soon as that is known."""
        self.code.append(place)
        self._ask(place)

    def extend_code(self, place: CodePlace, code: str) -> None:
        """More code was written into a panel, to `code` in all."""
        place.code = code
        self._ask(place)

    def write_formula(self, cursor: QTextCursor, task: FormulaTask, source: str) -> None:
        """Write a formula at `cursor`, as its source as long as its drawing is not there."""
        drawing = self._typesetter.result(task)
        if isinstance(drawing, FormulaDrawing):
            self._place_formula(cursor, task, drawing, source)
            return
        written = source.replace("\n", "\N{LINE SEPARATOR}")
        start = cursor.position()
        cursor.insertText(written, self._style.formula_source())
        if not self._typesetter.is_done(task):
            self._formulas.append(FormulaPlace(start, cursor.position() - start, task, source))
            self._typesetter.request(task)

    def awaits(self, task: Task) -> bool:
        """Whether `task` is one of this document's."""
        if isinstance(task, HighlightTask):
            return any(place.asked == task for place in self.code)
        return any(place.task == task for place in self._formulas)

    def take(self, task: Task) -> list[tuple[int, int]]:
        """Put the result of `task` in its places.

        Returns the changes of length: at which position, by how many characters.
        """
        if isinstance(task, FormulaTask):
            return self._take_formula(task)
        for place in self.code:
            if place.asked == task:
                place.asked = None
                self._colour(place, task)
                self._ask(place)
        return []

    def _ask(self, place: CodePlace) -> None:
        """Have the code coloured, unless an earlier state of it is being coloured right now."""
        task = HighlightTask(place.code, place.language)
        if not place.language or place.asked or len(place.code) > MAX_HIGHLIGHTED:
            return
        if self._typesetter.is_done(task):
            self._colour(place, task)
        else:
            place.asked = task
            self._typesetter.request(task)

    def _colour(self, place: CodePlace, task: HighlightTask) -> None:
        result = self._typesetter.result(task)
        if not isinstance(result, HighlightedCode):
            return
        formats = code_formats(self._style.tokens)
        block = self._document.findBlock(place.start)
        first = end = -1
        for number, spans in enumerate(result.lines):
            if spans != (place.lines[number] if number < len(place.lines) else ()):
                block.layout().setFormats([_range(span, formats) for span in spans])
                first = block.position() if first < 0 else first
                end = block.position() + block.length()
            block = block.next()
        place.lines = result.lines
        if first >= 0:
            self._document.markContentsDirty(first, end - first)

    def _take_formula(self, task: FormulaTask) -> list[tuple[int, int]]:
        mine = [place for place in self._formulas if place.task == task]
        self._formulas = [place for place in self._formulas if place.task != task]
        drawing = self._typesetter.result(task)
        if not isinstance(drawing, FormulaDrawing):
            return []
        changes = []
        for place in reversed(mine):  # from behind: positions in front stay right
            cursor = QTextCursor(self._document)
            cursor.setPosition(place.start)
            cursor.setPosition(place.start + place.length, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            self._place_formula(cursor, task, drawing, place.source)
            self._shift(place.start, 1 - place.length)
            changes.append((place.start, 1 - place.length))
        return changes

    def _place_formula(
        self, cursor: QTextCursor, task: FormulaTask, drawing: FormulaDrawing, source: str
    ) -> None:
        cursor.insertText(
            "\N{OBJECT REPLACEMENT CHARACTER}", formula_letter(drawing, source, self._style.font, self._scale)
        )
        if task.display:
            form = cursor.blockFormat()
            form.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            cursor.setBlockFormat(form)

    def _shift(self, position: int, difference: int) -> None:
        places: list[CodePlace | FormulaPlace] = [*self.code, *self._formulas]
        for place in places:
            if place.start > position:
                place.start += difference


def _range(span: tuple[int, int, str], formats: Mapping[str, QTextCharFormat]) -> QTextLayout.FormatRange:
    found = QTextLayout.FormatRange()
    start, length, kind = span
    found.start, found.length, found.format = start, length, formats[kind]
    return found
