"""markdown-it's tokens -> blocks of a document.

`MarkdownWriter` writes at the end of a document, block by block; what it wrote before never changes. Each
line takes its direction from its first strong letter, code is left to right. Formulas and colours of code
come later, see `markdown_places`. It knows nothing about where the tokens come from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it.token import Token
from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor, QTextList, QTextListFormat

from app.views.markdown_blocks import LISTS
from app.views.markdown_direction import has_right_to_left, is_right_to_left
from app.views.markdown_math import MAX_FORMULA
from app.views.markdown_places import CodePlace, Places
from app.views.markdown_runs import Run, lines_of, runs_of
from app.views.markdown_style import BULLETS, INDENT, ISOLATE, QUOTE_BARS, MarkdownStyle
from app.views.markdown_tables import insert_table
from app.views.markdown_typesetting import FormulaTask
from app.views.tokens import UNIT

CODE = frozenset({"fence", "code_block"})

_TASK = re.compile(r"\[([ xX])\]\s+")
_LRI, _PDI = "\N{LEFT-TO-RIGHT ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"


@dataclass(frozen=True, slots=True)
class Mark:
    """A place between two blocks at the end of what is written.

    `is_fresh`: the block at `position` is empty and belongs to what comes next.
    """

    position: int
    is_fresh: bool


@dataclass(slots=True)
class _List:
    form: QTextListFormat
    made: QTextList | None = None
    marker_due: bool = False


class MarkdownWriter:
    """Writes at `cursor`, which stands at the end of a document, at a `Mark`."""

    def __init__(self, cursor: QTextCursor, style: MarkdownStyle, places: Places, *, is_fresh: bool) -> None:
        self._cursor, self._style, self._places = cursor, style, places
        self._fresh = is_fresh
        self._containers: list[_List | None] = []  # None is a quote
        self._bars = 0
        self._right_to_left = False
        self._begun = 0

    def mark(self) -> Mark:
        """Where the next block goes."""
        return Mark(self._cursor.position(), self._fresh)

    def write(self, tokens: Sequence[Token]) -> None:
        """Write a whole block of the outermost level."""
        self._begun = self._cursor.position()
        number = 0
        while number < len(tokens):
            token = tokens[number]
            if token.type == "table_open":
                end = next(n for n in range(number, len(tokens)) if tokens[n].type == "table_close")
                self._write_table(tokens[number : end + 1])
                number = end
            elif token.type == "heading_open":
                self._write_heading(tokens[number + 1], int(token.tag[1:]))
            elif token.type == "paragraph_open":
                self._write_paragraph(tokens[number + 1], tight=token.hidden)
            else:
                self._write_other(token)
            number += 1

    def _write_other(self, token: Token) -> None:
        if token.type in CODE:
            self._write_code(token)
        elif token.type == "math_block":
            self._write_display(token.content, token.markup, is_open=bool(token.meta.get("open")))
        elif token.type == "hr":
            self._write_rule()
        elif token.type in LISTS:
            self._mark_item()
            self._containers.append(_List(self._list_form(token)))
        elif token.type == "list_item_open":
            self._due(True)
        elif token.type == "list_item_close":
            self._mark_item()
        elif token.type == "blockquote_open":
            self._mark_item()
            self._bars |= 1 << len(self._containers)
            self._containers.append(None)
        elif token.type in {"bullet_list_close", "ordered_list_close", "blockquote_close"}:
            self._containers.pop()
            if not self._containers and token.meta.get("last", True):
                self._set_apart()
            self._bars &= (1 << len(self._containers)) - 1

    # --- blocks -----------------------------------------------------------------------------------

    def _begin(self, form: QTextBlockFormat, text: str = "") -> None:
        """Begin a block for `text` inside the open lists and quotes, with the list's marker if one is due."""
        form = QTextBlockFormat(form)
        if self._bars:
            form.setProperty(QUOTE_BARS, self._bars)
        item = self._containers[-1] if self._containers else None
        has_marker = item is not None and item.marker_due
        form.setIndent(0 if has_marker else len(self._containers))
        is_task = form.hasProperty(QTextBlockFormat.Property.BlockMarker)
        has_bullet = item is not None and has_marker and item.form.style() in BULLETS and not is_task
        letters = self._style.unseen() if has_bullet else QTextCharFormat()
        if self._fresh:
            self._cursor.setBlockFormat(form)
            self._cursor.setBlockCharFormat(letters)
            self._fresh = False
        else:
            self._cursor.insertBlock(form, letters)
        if item is not None and has_marker:
            self._put_marker(item, right_to_left=is_right_to_left(text))

    def _put_marker(self, item: _List, *, right_to_left: bool) -> None:
        item.marker_due = False
        if item.made is not None:
            item.made.add(self._cursor.block())
            return
        if right_to_left:
            # Qt turns number and suffix around, and so does the layout of the text: the dot would come first.
            item.form.setNumberPrefix(".")
            item.form.setNumberSuffix("")
        item.made = self._cursor.createList(item.form)

    def _due(self, due: bool) -> None:
        item = self._containers[-1]
        if item is not None:
            item.marker_due = due

    def _mark_item(self) -> None:
        """An item that begins with something else than text still gets its marker, on a line of its own."""
        item = self._containers[-1] if self._containers else None
        if item is not None and item.marker_due:
            self._begin(self._style.paragraph(tight=True))

    def _set_apart(self) -> None:
        """What follows a list or quote keeps the distance of a paragraph, however tight the items stand."""
        if self._cursor.position() > self._begun and not self._fresh:
            form = self._cursor.blockFormat()
            form.setBottomMargin(UNIT)
            self._cursor.setBlockFormat(form)

    def _list_form(self, token: Token) -> QTextListFormat:
        form = QTextListFormat()
        form.setIndent(len(self._containers) + 1)
        if token.type == "ordered_list_open":
            form.setStyle(QTextListFormat.Style.ListDecimal)
            form.setStart(min(int(token.attrs.get("start", 1)), 2**31 - 10_000))
        else:
            depth = sum(container is not None for container in self._containers)
            form.setStyle(BULLETS[depth % len(BULLETS)])
        return form

    def _write_rule(self) -> None:
        # Not in the block that Qt keeps behind a table: there the line would begin beside the table.
        if self._fresh and self._cursor.position():
            self._cursor.setBlockFormat(self._style.gap())
            self._fresh = False
        self._begin(self._style.rule())

    def _write_heading(self, inline: Token, level: int) -> None:
        runs = runs_of(inline)
        self._begin(self._style.heading(level), "".join(run.text for run in runs))
        self._write_runs(runs, level)

    def _write_paragraph(self, inline: Token, *, tight: bool) -> None:
        """Each line is a block: it may have another direction than the one before."""
        form = self._style.paragraph(tight=tight)
        runs = runs_of(inline)
        item = self._containers[-1] if self._containers else None
        if item is not None and item.marker_due:
            runs = _take_task(runs, form)
        lines = lines_of(runs)
        for number, line in enumerate(lines):
            one = QTextBlockFormat(form)
            if number:
                one.clearProperty(QTextBlockFormat.Property.BlockMarker)
            if number < len(lines) - 1:
                one.setBottomMargin(0)
            if line and line[0].display and line[0].latex is not None:
                self._write_display(line[0].latex, line[0].text, is_open=False)
            else:
                self._begin(one, "".join(run.text for run in line))
                self._write_runs(line)

    def _write_display(self, latex: str, source: str, *, is_open: bool) -> None:
        self._begin(self._style.paragraph())
        if is_open or len(latex) > MAX_FORMULA:
            self._cursor.insertText(source.replace("\n", "\N{LINE SEPARATOR}"), self._style.formula_source())
        else:
            self._places.write_formula(self._cursor, self._formula(latex, display=True), source)

    def _write_code(self, token: Token) -> None:
        language = token.info.split(maxsplit=1)[0].strip("{}.").lower() if token.info.strip() else ""
        code = token.content.removesuffix("\n")
        if language in {"math", "latex-math"}:
            self._write_display(code, code, is_open=False)
            return
        self._prepare_frame()
        form = self._style.panel()
        inset = len(self._containers) * INDENT
        form.setRightMargin(inset if self._right_to_left else 0)
        form.setLeftMargin(0 if self._right_to_left else inset)
        frame = self._cursor.insertFrame(form)
        line = self._style.code_line()
        if self._bars:
            line.setProperty(QUOTE_BARS, self._bars)
        self._cursor.setBlockFormat(line)
        self._cursor.insertText(code, self._style.code_letters())
        self._places.add_code(CodePlace(frame.firstPosition(), code, language))
        self._leave(frame.lastPosition() + 1)

    def _write_table(self, tokens: Sequence[Token]) -> None:
        self._prepare_frame()
        inset = len(self._containers) * INDENT
        table = insert_table(self._cursor, tokens, self._style, inset, self._write_cell)
        self._leave(table.lastPosition() + 1)

    def _write_cell(self, cursor: QTextCursor, inline: Token, is_head: bool) -> None:
        outer, self._cursor = self._cursor, cursor
        runs = [run._replace(bold=True) for run in runs_of(inline)] if is_head else runs_of(inline)
        self._write_runs([run._replace(display=False) for run in runs])
        self._cursor = outer

    def _prepare_frame(self) -> None:
        self._mark_item()
        if self._fresh:
            self._cursor.setBlockFormat(self._style.gap())

    def _leave(self, position: int) -> None:
        """Go on in the block that Qt keeps behind a panel or table."""
        self._cursor.setPosition(position)
        self._cursor.setBlockFormat(self._style.gap())
        self._fresh = True

    # --- letters ----------------------------------------------------------------------------------

    def _write_runs(self, runs: Sequence[Run], level: int = 0) -> None:
        text = "".join(run.text for run in runs)
        mixed = has_right_to_left(text)
        self._right_to_left = mixed and is_right_to_left(text)
        for run in runs:
            letters = self._style.letters(run, quoted=bool(self._bars), level=level)
            if run.latex is not None and len(run.latex) <= MAX_FORMULA:
                task = self._formula(run.latex, display=run.display)
                self._places.write_formula(self._cursor, task, run.text)
            elif mixed and run.code:
                self._write_isolated(run.text, letters)
            else:
                self._cursor.insertText(run.text, letters)

    def _write_isolated(self, code: str, letters: QTextCharFormat) -> None:
        """Code among right-to-left letters: `f()` would be shown as `()f`."""
        mark = QTextCharFormat(letters)
        mark.setProperty(ISOLATE, True)
        self._cursor.insertText(_LRI, mark)
        self._cursor.insertText(code, letters)
        self._cursor.insertText(_PDI, mark)

    def _formula(self, latex: str, *, display: bool) -> FormulaTask:
        tokens = self._style.tokens
        colour = tokens.muted if self._bars else tokens.text
        return FormulaTask(latex, display, self._style.formula_size, colour)


def _take_task(runs: list[Run], form: QTextBlockFormat) -> list[Run]:
    """`[ ]` and `[x]` at the beginning of an item become its marker."""
    found = _TASK.match(runs[0].text) if runs and not runs[0].code else None
    if not found:
        return runs
    form.setMarker(
        QTextBlockFormat.MarkerType.Unchecked if found[1] == " " else QTextBlockFormat.MarkerType.Checked
    )
    return [runs[0]._replace(text=runs[0].text[found.end() :]), *runs[1:]]
