"""Code and the name of its language -> which stretches of each line have which colour, by Pygments.

Runs in the typesetting process: loading a lexer takes a tenth of a second, and a crafted line can keep one
busy for ever. Knows nothing about colours or Qt: a stretch has a `kind`, see `code_colours`.
"""

from __future__ import annotations

from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    String,
    _TokenType,
)
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from app.views.markdown_typesetting import HighlightedCode, HighlightTask

_KINDS: dict[_TokenType, str] = {
    Keyword: "keyword",
    Operator.Word: "keyword",
    Name.Tag: "keyword",
    String: "string",
    Generic.Inserted: "string",
    Number: "number",
    Keyword.Constant: "number",
    Comment: "comment",
    Generic.Output: "comment",
    Name.Function: "name",
    Name.Class: "name",
    Name.Namespace: "name",
    Name.Attribute: "name",
    Generic.Heading: "name",
    Name.Builtin: "builtin",
    Name.Decorator: "builtin",
    Name.Exception: "builtin",
    Name.Variable: "builtin",
    Comment.Preproc: "builtin",
    Generic.Deleted: "deleted",
}


def highlight(task: HighlightTask) -> HighlightedCode | None:
    """The coloured stretches of `task`; None for a language that Pygments does not know."""
    try:
        # Tabs and empty lines stay as they are: the stretches are counted in the code's own characters.
        lexer = get_lexer_by_name(task.language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return HighlightedCode(tuple(tuple(line) for line in _lines(lexer, task.code)))


def _lines(lexer: Lexer, code: str) -> list[list[tuple[int, int, str]]]:
    """Lengths count UTF-16 units, as Qt does."""
    lines: list[list[tuple[int, int, str]]] = [[]]
    column = 0
    # Some lexers know a comment by the end of its line, which the last line of a panel has not.
    for token, text in lexer.get_tokens(f"{code}\n"):
        kind = _kind(token)
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append([])
                column = 0
            length = len(part) + sum(letter > "\uffff" for letter in part)
            if kind and part.strip():
                lines[-1].append((column, length, kind))
            column += length
    return lines[:-1]


def _kind(token: _TokenType) -> str:
    while token not in _KINDS and token.parent is not None:
        token = token.parent
    return _KINDS.get(token, "")
