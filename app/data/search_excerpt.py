"""Whether words are in a text, and the line around the first of them, with marks.

Words and texts go in; answers and excerpts come out. Capitals do not matter, in any script. Knows nothing
about where the texts come from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.data.message_text import joins_the_one_before, one_line

_LENGTH = 80  # characters, without the two ellipses
_BEFORE = 24  # of them before the match
_AT_WORD = 16  # how far an end may move so that no word is cut
_ELLIPSIS = "…"

Marks = tuple[tuple[int, int], ...]


class Excerpts:
    """The excerpts of one search for `words`, which have no white space in them."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._folded = [word.casefold() for word in words]

    def match(self, text: str) -> bool:
        """Whether all the words are in `text`."""
        folded = text.casefold()
        return all(word in folded for word in self._folded)

    def around_match(self, text: str) -> tuple[str, Marks]:
        """About 80 characters around the first word that is in `text`, and where in them words are."""
        start, end = _cut(text, self._first_place(text))
        before = _ELLIPSIS if start > 0 else ""
        after = _ELLIPSIS if end < len(text) else ""
        excerpt = before + one_line(text[start:end]) + after
        return excerpt, self._marks(excerpt)

    def _first_place(self, text: str) -> int:
        folded = text.casefold()
        if len(folded) == len(text):  # folding makes no text shorter: nothing has moved
            return min((at for word in self._folded if (at := folded.find(word)) >= 0), default=0)
        match = self._pattern(folded).search(text)
        return match.start() if match else 0

    def _marks(self, excerpt: str) -> Marks:
        return tuple(match.span() for match in self._pattern(excerpt.casefold()).finditer(excerpt))

    def _pattern(self, folded: str) -> re.Pattern[str]:
        """Any of the words that are in `folded`, the longest first; a very long one by its beginning."""
        beginnings = {
            word[: _LENGTH // 2]
            for word, folded_word in zip(self._words, self._folded, strict=True)
            if folded_word[: _LENGTH // 2] in folded
        }
        longest_first = sorted(beginnings, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)) or "(?!)", re.IGNORECASE)


def _cut(text: str, place: int) -> tuple[int, int]:
    """Where the excerpt around `place` starts and ends, at a word's border if one is near."""
    start = max(0, place - _BEFORE)
    if start > 0:
        start = _after_space(text, start, min(start + _AT_WORD, place))
    end = min(len(text), start + _LENGTH)
    if end < len(text):
        end = _before_space(text, max(end - _AT_WORD, place + 1), end)
    return start, end


def _after_space(text: str, start: int, latest: int) -> int:
    position = next((at + 1 for at in range(start, latest) if text[at].isspace()), start)
    while position < latest and joins_the_one_before(text, position):
        position += 1
    return position


def _before_space(text: str, earliest: int, end: int) -> int:
    position = next((at for at in range(end, earliest, -1) if text[at].isspace()), end)
    while position > earliest and joins_the_one_before(text, position):
        position -= 1
    return position
