"""How well what was typed fits a name: whole words in any order, their beginnings, or letters of them.

Two texts go in, a score comes out: the beginning of the name beats the beginning of a word, that beats
the first letters of several, the inside of one, and last letters which are only scattered. Upper case
and accents do not matter. Knows nothing about what the names stand for.
"""

from __future__ import annotations

import unicodedata

_PREFIX, _WORD_START, _INITIALS, _INSIDE, _SCATTERED = 8.0, 4.0, 3.0, 2.0, 1.0


def fold(text: str) -> str:
    """`text` without upper case and accents, in one line."""
    if text.isascii():  # most titles: ten times as quick
        return " ".join(text.lower().split())
    letters = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(letter for letter in letters if not unicodedata.combining(letter)).split())


def score(query: str, name: str) -> float | None:
    """How well `query` fits `name`, both folded; None if a word of it does not fit at all.

    0.0 for an empty query. Of names that fit alike, the shorter one scores higher.
    """
    total = 0.0
    for word in query.split():
        fit = _fit(word, name)
        if fit is None:
            return None
        total += fit
    return total + 1.0 / (2.0 + len(name)) if total else 0.0


def _fit(word: str, name: str) -> float | None:
    if name.startswith(word):
        return _PREFIX
    if f" {word}" in name:
        return _WORD_START
    if len(word) > 1 and word in "".join(part[0] for part in name.split()):
        return _INITIALS
    if word in name:
        return _INSIDE
    return _SCATTERED if _is_scattered_in(word, name) else None


def _is_scattered_in(word: str, name: str) -> bool:
    """Whether the letters of `word` follow each other in `name`, the first one at the start of a word.

    Without that start nearly any long title would fit.
    """
    starts = [i for i, letter in enumerate(name) if letter == word[0] and (i == 0 or name[i - 1] == " ")]
    return any(_follows(word, name, start) for start in starts)


def _follows(word: str, name: str, position: int) -> bool:
    for letter in word:
        position = name.find(letter, position) + 1
        if position == 0:
            return False
    return True
