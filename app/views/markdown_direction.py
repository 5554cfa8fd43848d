"""Which way a text is read.

A line is read from right to left if its first strong letter is of a script that is. Knows nothing about
widgets.
"""

from __future__ import annotations

import re
import unicodedata

_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def has_right_to_left(text: str) -> bool:
    """Whether any letter of `text` may be read from right to left."""
    return _RIGHT_TO_LEFT.search(text) is not None


def is_right_to_left(text: str, *, otherwise: bool = False) -> bool:
    """Whether the first strong letter of `text` is read from right to left; `otherwise` without one."""
    for letter in text:
        kind = unicodedata.bidirectional(letter)
        if kind in {"L", "R", "AL"}:
            return kind != "L"
    return otherwise
