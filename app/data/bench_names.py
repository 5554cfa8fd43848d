"""Names of files and models as they may be shown: every character is seen for what it is.

Text goes in, as the file system or a model file has it; text that can be printed comes out. Promises that
what cannot be encoded, and what turns the direction of the text around it, is an escape. Knows nothing about
where it is shown.
"""

from __future__ import annotations

import re

from app.data.message_text import clean_text

# Marks, embeddings, overrides and isolates: https://www.unicode.org/reports/tr9/#Explicit_Directional_Embeddings
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def encodable(text: str) -> str:
    """`text` with bytes of a file's name that are no UTF-8 as `\\xff`, and no lone surrogates."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # halves of pairs that stand for no byte
        return clean_text(text)


def undirected(text: str) -> str:
    """`text` with what would reorder its neighbours as `\\u202e`."""
    return _DIRECTIONS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
