"""A message as plain text that reads well: no marks of Markdown, code and tables still in shape.

For copying. Links keep their addresses, formulas their LaTeX, items their markers; columns of tables are
filled up with spaces. Knows nothing about documents.
"""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it.token import Token

from app.views.markdown_blocks import blocks_of
from app.views.markdown_parsing import TooComplex, parse, references
from app.views.markdown_runs import Run, runs_of
from app.views.message_document import displayable

_MAX_LENGTH = 300_000
"""Longer texts are given as they are: reading their Markdown would take seconds."""


def text_of_markdown(text: str) -> str:
    """`text` without the marks of Markdown; as it is if it is too long or too complex to tell."""
    if len(text) > _MAX_LENGTH:
        return text
    source = displayable(text)
    try:
        blocks = blocks_of(parse(source, references(source)), source, None)
    except TooComplex:
        return text
    return _TextWriter().write([token for block in blocks for token in block.tokens])


class _TextWriter:
    """Lines of text, indented as far as lists and quotes are open."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._indents: list[str] = []
        self._numbers: list[int | None] = []
        self._marker = ""

    def write(self, tokens: Sequence[Token]) -> str:
        rows: list[list[str]] = []
        for number, token in enumerate(tokens):
            if token.type == "inline":
                if tokens[number - 1].type in {"th_open", "td_open"}:
                    rows[-1].append(_text(token).replace("\n", " "))
                else:
                    self._block(_text(token).split("\n"), tight=tokens[number - 1].hidden)
            elif token.type == "tr_open":
                rows.append([])
            elif token.type == "table_close":
                self._block(_columns(rows))
                rows = []
            elif token.type in {"fence", "code_block"}:
                self._block(token.content.removesuffix("\n").split("\n"))
            elif token.type == "math_block":
                self._block(token.markup.split("\n"))
            elif token.type == "hr":
                self._block(["---"])
            else:
                self._container(token)
        return "\n".join(self._lines).strip("\n")

    def _container(self, token: Token) -> None:
        if token.type in {"bullet_list_open", "ordered_list_open"}:
            ordered = token.type == "ordered_list_open"
            self._numbers.append(int(token.attrs.get("start", 1)) if ordered else None)
        elif token.type == "list_item_open":
            number = self._numbers[-1]
            if number is not None:
                self._numbers[-1] = number + 1
            self._marker = "- " if number is None else f"{number}. "
            self._indents.append(" " * len(self._marker))
        elif token.type == "blockquote_open":
            self._indents.append("    ")
        elif token.type in {"list_item_close", "blockquote_close"}:
            self._indents.pop()
        elif token.type in {"bullet_list_close", "ordered_list_close"}:
            self._numbers.pop()
            if not self._numbers and token.meta.get("last") and self._lines and self._lines[-1]:
                self._lines.append("")

    def _block(self, lines: Sequence[str], *, tight: bool = False) -> None:
        indent = "".join(self._indents)
        for number, line in enumerate(lines):
            if self._marker and not number:
                self._lines.append(indent[: -len(self._marker)] + self._marker + line)
            else:
                self._lines.append(f"{indent}{line}" if line else "")
        self._marker = ""
        if not tight:
            self._lines.append("")


def _text(inline: Token) -> str:
    runs = runs_of(inline)
    return "".join(_with_address(run, runs[number + 1 :]) for number, run in enumerate(runs))


def _with_address(run: Run, following: Sequence[Run]) -> str:
    """The address stands behind the last run of a link, unless the link says it."""
    if run.address is None or (following and following[0].address == run.address):
        return run.text
    return run.text if run.address.endswith(run.text) else f"{run.text} ({run.address})"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=False)]
    return [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
