"""How LaTeX stands in Markdown: markdown-it's rules for it.

Inline `$x$` and `\\(x\\)`; set apart `$$x$$`, `\\[x\\]` and `\\begin{align}...\\end{align}`, on lines of
their own or inside a paragraph. What only looks like it stays text: an amount of money, a lone dollar,
a formula with an empty line in it. A formula that stands on lines of its own and is not closed yet, at
the end of the text, is `open`. Each rule looks at each character at most twice. Knows nothing about
how a formula is set.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MAX_FORMULA = 1_000
"""Characters of one formula; a longer one is shown as it is written."""

_ENVIRONMENTS = "equation|align|gather|multline|eqnarray|alignat|aligned|gathered|cases|[pbvBV]?matrix"
_BEGIN = re.compile(rf"\\begin\{{((?:{_ENVIRONMENTS})\*?)\}}")
_LATEX = re.compile(r"[\\^_=+{}<>*/|]")
_PAIRS = {"\\(": "\\)", "\\[": "\\]"}


def math_rules(parser: MarkdownIt) -> None:
    """Teach `parser` LaTeX: tokens `math_inline`, `math_display` and `math_block`."""
    parser.inline.ruler.before("escape", "math", _inline)
    parser.block.ruler.before(
        "fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def _inline(state: StateInline, silent: bool) -> bool:
    source, start = state.src, state.pos
    mark = source[start : start + 2]
    if mark == "$$":
        return _take(state, silent, "math_display", "$$", source.find("$$", start + 2))
    if mark[:1] == "$":
        return _dollar(state, silent)
    if mark in _PAIRS:
        kind = "math_inline" if mark == "\\(" else "math_display"
        end = source.find(_PAIRS[mark], start + 2, start + 2 + MAX_FORMULA)
        return _take(state, silent, kind, mark, end)
    begin = _BEGIN.match(source, start) if mark == "\\b" else None
    if begin:
        closing = f"\\end{{{begin[1]}}}"
        end = source.find(closing, start, start + MAX_FORMULA)
        return _take(state, silent, "math_display", "", end + len(closing) if end >= 0 else -1)
    return False


def _take(state: StateInline, silent: bool, kind: str, mark: str, end: int) -> bool:
    content = state.src[state.pos + len(mark) : end]
    if end < 0 or not content.strip():
        return False
    if not silent:
        token = state.push(kind, "math", 0)
        token.content = content.strip()
        token.markup = state.src[state.pos : end + len(mark)]
    state.pos = end + len(mark)
    return True


def _dollar(state: StateInline, silent: bool) -> bool:
    """`$x$`, if both dollars touch the formula, no digit follows, and it is no amount of money."""
    source, start = state.src, state.pos
    end = source.find("$", start + 1, start + 1 + MAX_FORMULA)
    while end > 0 and source[end - 1] == "\\":
        end = source.find("$", end + 1, start + 1 + MAX_FORMULA)
    content = source[start + 1 : end] if end > 0 else ""
    if not content or content[0].isspace() or content[-1].isspace() or "\n" in content:
        return False
    if source[start - 1 : start].isalnum() or source[end + 1 : end + 2].isalnum():
        return False
    if content[0].isdigit() and " " in content and not _LATEX.search(content):
        return False
    return _take(state, silent, "math_inline", "$", end)


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    if state.sCount[first] - state.blkIndent >= 4:
        return False
    line = _line(state, first)
    marks = _marks(line)
    if marks is None:
        return False
    opening, closing = marks
    end, lines = first, [line]
    found = line.find(closing, len(opening))
    while found < 0:
        end += 1
        if end >= last or state.isEmpty(end) or state.sCount[end] < state.blkIndent:
            break
        lines.append(_line(state, end))
        found = lines[-1].find(closing)
    is_open = found < 0
    if is_open and (line != opening or end < last):
        return False
    if not is_open and lines[-1][found + len(closing) :].strip(" .,;:"):
        return False
    if not silent:
        _push(state, "\n".join(lines), opening, closing, is_open)
        state.line = min(end + 1, last)
        state.tokens[-1].map = [first, state.line]
    return True


def _marks(line: str) -> tuple[str, str] | None:
    if line.startswith("$$"):
        return "$$", "$$"
    if line.startswith("\\["):
        return "\\[", "\\]"
    begin = _BEGIN.match(line)
    return (begin[0], f"\\end{{{begin[1]}}}") if begin else None


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].rstrip()


def _push(state: StateBlock, source: str, opening: str, closing: str, is_open: bool) -> None:
    token = state.push("math_block", "math", 0)
    token.block = True
    token.markup = source
    token.meta = {"open": is_open}
    token.content = source
    if not is_open and not opening.startswith("\\begin"):
        token.content = source[len(opening) : source.rfind(closing)].strip()
