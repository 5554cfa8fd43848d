"""Very long lines, broken up so that they can be laid out in time.

Text goes in; a text with short lines comes out, and from that the first one again, character for
character. Laying out one line takes time with its length, at each key that is pressed in it: a million
characters took a second. Knows nothing about widgets.
"""

from __future__ import annotations

import re

PIECE = 5_000
"""Characters of a line after which it is broken."""

MARK = "\ufff8"
"""Stands before a break that is not in the text: invisible, and no character at all (Unicode keeps
U+FFF0 to U+FFF8 free), so that no text has it."""

_PARAGRAPH = "\u2029"  # what stands between two blocks of Qt's documents
_TOO_LONG = re.compile(rf"[^\n\r{_PARAGRAPH}]{{{PIECE}}}(?=[^\n\r{_PARAGRAPH}])")


def broken(text: str) -> str:
    """`text` with a marked break after each PIECE characters of a line."""
    return _TOO_LONG.sub(rf"\g<0>{MARK}\n", text)


def joined(raw: str) -> str:
    """The text of a Qt document's raw text: without the marked breaks, and `\\n` between paragraphs."""
    if MARK in raw:
        raw = raw.replace(MARK + _PARAGRAPH, "").replace(MARK, "")
    return raw.replace(_PARAGRAPH, "\n")
