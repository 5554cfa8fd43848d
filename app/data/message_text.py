"""Text on its way into the store.

Any Python string goes in; text that is valid Unicode, or a short line made from it, comes out.
Promises that what comes out can be encoded as UTF-8 and reloads equal. NUL characters and direction
marks are text like any other and stay. Knows nothing about chats or SQL.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence

TITLE_LENGTH = 60  # characters, the ellipsis included

_JOINER = "\u200d"
_ELLIPSIS = "…"


def clean_text(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD; two halves of a pair become one character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # A lone surrogate would abort saving: simonw/llm#546.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def title_from(text: str) -> str:
    """A title of at most TITLE_LENGTH characters from the first line that has any; "" if none has."""
    lines = (one_line(line) for line in text[:10_000].splitlines())
    line = next((line for line in lines if line), "")
    if len(line) <= TITLE_LENGTH:
        return line
    return line[: _cut_position(line, TITLE_LENGTH - len(_ELLIPSIS))].rstrip() + _ELLIPSIS


def title_of(content: str, file_names: Sequence[str]) -> str:
    """A title from a message: its text, or else the first of its files that has a name; "" if none has."""
    return next(filter(None, map(title_from, (content, *file_names))), "")


def one_line(text: str) -> str:
    """`text` with one space for each stretch of white space and control characters."""
    printable = (" " if unicodedata.category(character) == "Cc" else character for character in text)
    return " ".join("".join(printable).split())


def _cut_position(line: str, limit: int) -> int:
    """Before the word that crosses `limit`; inside it only when it is very long."""
    at_word = line.rfind(" ", 0, limit + 1)
    if at_word >= limit // 2:
        return at_word
    position = limit
    while position > 0 and joins_the_one_before(line, position):
        position -= 1
    return position or limit


def joins_the_one_before(line: str, position: int) -> bool:
    """Whether a cut at `position` would split what a reader sees as one character."""
    before, after = line[position - 1], line[position]
    if _is_flag_letter(after):
        # Flags are pairs of letters: only a cut behind an even number of them is between two flags.
        flag_letters = itertools.takewhile(_is_flag_letter, reversed(line[:position]))
        return sum(1 for _ in flag_letters) % 2 == 1
    return (
        _JOINER in (before, after)
        or unicodedata.category(after) in {"Mn", "Mc", "Me"}  # accents, vowel signs, variation selectors
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
