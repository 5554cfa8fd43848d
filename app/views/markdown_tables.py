"""The tokens of a Markdown table -> a table in a document.

Columns stand as the table's second line says, else on the side where their text begins; a table whose
headings are read from right to left begins on the right, and so do its columns. Numbers stay on one line
while there is room. Knows nothing about the inside of cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from markdown_it.token import Token
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlockFormat, QTextCursor, QTextTable

from app.views.markdown_direction import is_right_to_left
from app.views.markdown_style import MarkdownStyle

WriteCell = Callable[[QTextCursor, Token, bool], None]
"""Writes an inline token at a cursor; whether it is a heading."""

_LONGEST_NUMBER = 16
_MOST_NUMBERS = 40
"""Characters of the numbers of one row that are kept from breaking."""

_DIRECTIONS = (Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft)
_ALIGNMENTS = {
    "left": Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute,
    "right": Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute,
    "center": Qt.AlignmentFlag.AlignHCenter,
}


def insert_table(
    cursor: QTextCursor, tokens: Sequence[Token], style: MarkdownStyle, inset: int, write: WriteCell
) -> QTextTable:
    """Insert the table of `tokens`, `inset` pixels from where text begins, and have its cells written."""
    rows = _rows(tokens)
    form = style.table()
    right_to_left = is_right_to_left(" ".join(inline.content for _head, inline in rows[0]))
    form.setLayoutDirection(_DIRECTIONS[right_to_left])
    form.setAlignment(Qt.AlignmentFlag.AlignRight if right_to_left else Qt.AlignmentFlag.AlignLeft)
    form.setRightMargin(inset if right_to_left else 0)
    form.setLeftMargin(0 if right_to_left else inset)
    form.setHeaderRowCount(1)
    table = cursor.insertTable(len(rows), len(rows[0]), form)
    keeps_numbers = _has_room_for_numbers(rows)
    for row, cells in enumerate(rows):
        for column, (head, inline) in enumerate(cells):
            # Qt lays columns out from the left whatever the direction of the table.
            place = len(rows[0]) - 1 - column if right_to_left else column
            inside = table.cellAt(row, place).firstCursorPosition()
            block = QTextBlockFormat()
            block.setNonBreakableLines(keeps_numbers and _is_number(inline.content))
            # A number has no direction of its own.
            block.setLayoutDirection(_DIRECTIONS[is_right_to_left(inline.content, otherwise=right_to_left)])
            if alignment := _ALIGNMENTS.get(str(head.attrs.get("style", "")).rpartition(":")[2]):
                block.setAlignment(alignment)
            inside.setBlockFormat(block)
            write(inside, inline, head.type == "th_open")
    return table


def _is_number(text: str) -> bool:
    """Whether `text` is short and mostly figures, such as "1000/000", "12 MiB" or "2024-05-01"."""
    n_letters = sum(letter.isalpha() for letter in text)
    return len(text) <= _LONGEST_NUMBER and n_letters <= 4 and re.search(r"\d", text) is not None


def _has_room_for_numbers(rows: Sequence[Sequence[tuple[Token, Token]]]) -> bool:
    """Whether all numbers side by side leave room for the rest also in a narrow window."""
    widest = [0] * len(rows[0])
    for cells in rows:
        for column, (_head, inline) in enumerate(cells):
            if _is_number(inline.content):
                widest[column] = max(widest[column], len(inline.content))
    return sum(widest) <= _MOST_NUMBERS


def _rows(tokens: Sequence[Token]) -> list[list[tuple[Token, Token]]]:
    """For each row its cells: the token that opens one, and its inline token."""
    rows: list[list[tuple[Token, Token]]] = []
    for number, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in {"th_open", "td_open"}:
            rows[-1].append((token, tokens[number + 1]))
    return rows
