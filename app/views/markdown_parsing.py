"""Markdown of a message -> markdown-it's tokens, within bounds.

CommonMark with tables, struck text, bare web addresses and LaTeX; no HTML: what stands in angle brackets
stays text. Addresses come out as they were written, nothing is judged or fetched here. The cost is
bounded: a text that nests too deep or keeps the parser too busy is refused with `TooComplex`, and is to
be shown literally. Knows nothing about Qt.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from app.views.markdown_math import math_rules

MAX_DEPTH = 12
"""Lists and quotes inside each other."""

MAX_RUN = 8_000
"""Characters of one paragraph, heading or cell."""

MAX_BRACKETS = 400
"""Opening brackets in one of them: each may begin a link, and is looked at again within each other."""

MAX_CELLS = 600
"""Cells of one table; laying out more takes longer than a reader waits."""

MAX_REFERENCES = 300
"""`[label]: address` lines that count, from the beginning."""

References = Mapping[str, Mapping[str, Any]]
"""What `[label]: address` lines define, as markdown-it keeps it."""

_CONTAINERS = frozenset({"blockquote_open", "bullet_list_open", "ordered_list_open"})
_REFERENCE = re.compile(r"^ {0,3}\[[^\[\]\n]{1,999}\]:[ \t]*\S.*$", re.MULTILINE)
_ADDRESS = re.compile(r"://[^\s<>\"`]{1,2000}")
_STEPS_PER_CHARACTER = 3
_FREE_STEPS = 2_000


class TooComplex(Exception):
    """The text nests too deep, or parsing it takes too long."""


def references(text: str) -> References:
    """What the reference definitions in `text` define, wherever they stand."""
    return _defined("\n\n".join(_REFERENCE.findall(text)[:MAX_REFERENCES]))


def parse(source: str, known: References) -> list[Token]:
    """The tokens of `source`, whose lines end with `\\n`. Raises TooComplex."""
    environment = {
        "references": dict(known),
        "steps": _FREE_STEPS + _STEPS_PER_CHARACTER * len(source),
    }
    return _parser().parse(source, environment)


@functools.lru_cache(maxsize=8)
def _defined(lines: str) -> References:
    environment: dict[str, Any] = {}
    if lines:
        _parser().parse(lines, environment)
    return environment.get("references", {})  # type: ignore[no-any-return]


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 40})
    parser.enable(["table", "strikethrough"])
    math_rules(parser)
    parser.core.ruler.after("block", "bounds", _check)
    parser.inline.ruler.before("text", "budget", _budget)
    parser.inline.ruler.push("address", _bare_address)
    # What may be opened is decided at the click, where the reader sees the whole address.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return parser


def _budget(state: StateInline, _silent: bool) -> bool:
    """Count the steps: some inputs (`[*a_ [*a_`) take quadratic time."""
    if "steps" in state.env:
        state.env["steps"] -= 1
        if state.env["steps"] < 0:
            raise TooComplex
    return False


def _bare_address(state: StateInline, silent: bool) -> bool:
    """`https://...` in running text is a link, as on GitHub."""
    if state.src[state.pos] != ":" or state.linkLevel or silent:
        return False
    scheme = next((name for name in ("https", "http") if state.pending.endswith(name)), None)
    found = _ADDRESS.match(state.src, state.pos) if scheme else None
    if scheme is None or found is None or state.pending[: -len(scheme)][-1:].isalnum():
        return False
    rest = _without_punctuation(found[0])
    if len(rest) <= len("://"):
        return False
    state.pending = state.pending[: -len(scheme)]
    state.push("link_open", "a", 1).attrs = {"href": scheme + rest}
    state.push("text", "", 0).content = scheme + rest
    state.push("link_close", "a", -1)
    state.pos += len(rest)
    return True


def _without_punctuation(address: str) -> str:
    """What ends a sentence is not part of an address; a closing bracket is if it was opened."""
    while address:
        last = address[-1]
        if last == ")" and address.count("(") >= address.count(")"):
            break
        if last not in ".,;:!?'*_~])":
            break
        address = address[:-1]
    return address


def _check(state: StateCore) -> None:
    """Refuse what would keep the inline rules or the layout too busy, before they see it."""
    depth = cells = 0
    for token in state.tokens:
        if token.type in _CONTAINERS:
            depth += 1
            if depth > MAX_DEPTH:
                raise TooComplex
        elif token.type == "inline":
            if len(token.content) > MAX_RUN or token.content.count("[") > MAX_BRACKETS:
                raise TooComplex
        elif token.type == "table_open":
            cells = 0
        elif token.type in {"td_open", "th_open"}:
            cells += 1
            if cells > MAX_CELLS:
                raise TooComplex
        elif token.nesting < 0 and token.type.replace("_close", "_open") in _CONTAINERS:
            depth -= 1
