"""The inside of a paragraph: markdown-it's inline tokens -> runs of text that look alike.

Images are written out as `[alt: address]`: a picture that is fetched tells its server who reads. A line
break is a run of its own: models break lines where they mean it. Knows nothing about Qt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markdown_it.token import Token


class Run(NamedTuple):
    """Some text and how it stands there; `address` is where it leads.

    A formula has its LaTeX in `latex` and its source with delimiters in `text`.
    """

    text: str
    bold: bool = False
    italic: bool = False
    struck: bool = False
    code: bool = False
    address: str | None = None
    latex: str | None = None
    display: bool = False


BREAK = Run("\n")

_SWITCHES = {"strong": 0, "em": 1, "s": 2}


def runs_of(inline: Token) -> list[Run]:
    """The runs of an `inline` token, neighbours that look alike as one."""
    runs: list[Run] = []
    depths = [0, 0, 0]
    address: str | None = None
    for token in inline.children or ():
        name, _, end = token.type.rpartition("_")
        if name in _SWITCHES:
            depths[_SWITCHES[name]] += 1 if end == "open" else -1
        elif name == "link":
            address = str(token.attrs.get("href", "")) if end == "open" else None
        else:
            bold, italic, struck = (depth > 0 for depth in depths)
            _append(runs, _run(token, Run("", bold, italic, struck, False, address)))
    return runs


def lines_of(runs: Sequence[Run]) -> list[list[Run]]:
    """The lines of a paragraph; a formula that is set apart is a line of its own."""
    lines: list[list[Run]] = [[]]
    for run in runs:
        if run == BREAK:
            if lines[-1]:
                lines.append([])
        elif run.display:
            if lines[-1]:
                lines.append([])
            lines[-1].append(run)
            lines.append([])
        else:
            lines[-1].append(run._replace(text=run.text.lstrip()) if not lines[-1] else run)
    return [line for line in lines if line] or [[]]


def _run(token: Token, like: Run) -> Run:
    if token.type in {"softbreak", "hardbreak"}:
        return BREAK
    if token.type == "code_inline":
        return like._replace(text=token.content, code=True)
    if token.type == "image":
        source = token.attrs.get("src", "")
        return like._replace(
            text=f"[{_plain(token.children or ()).strip() or 'image'}: {source}]", italic=True
        )
    if token.type in {"math_inline", "math_display"}:
        return like._replace(
            text=token.markup, latex=token.content, display=token.type == "math_display", code=True
        )
    return like._replace(text=token.content)


def _append(runs: list[Run], run: Run) -> None:
    if runs and runs[-1][1:] == run[1:] and run.latex is None and BREAK not in (run, runs[-1]):
        runs[-1] = run._replace(text=runs[-1].text + run.text)
    elif run.text:
        runs.append(run)


def _plain(tokens: Sequence[Token]) -> str:
    return "".join(_plain(token.children) if token.children else token.content for token in tokens)
