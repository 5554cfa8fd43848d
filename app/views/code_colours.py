"""The colours of code: one for each kind of stretch, in light and dark.

All reach a contrast of 4.5:1 on the background of code. Knows nothing about languages.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from PySide6.QtGui import QColor, QTextCharFormat

from app.views.tokens import LIGHT, Tokens

LIGHT_CODE = {
    "keyword": "#8a2f86",
    "string": "#2a6b1f",
    "number": "#8f4a00",
    "comment": "#5a686d",
    "name": "#17599c",
    "builtin": "#0b6a66",
    "deleted": "#b02a37",
}

DARK_CODE = {
    "keyword": "#d79bd3",
    "string": "#a3cf8e",
    "number": "#e8b07a",
    "comment": "#8c9ca1",
    "name": "#86baf0",
    "builtin": "#6fc9c0",
    "deleted": "#f08c92",
}


@functools.cache
def code_formats(tokens: Tokens) -> Mapping[str, QTextCharFormat]:
    """What each kind of stretch looks like."""
    formats = {}
    for kind, colour in (LIGHT_CODE if tokens == LIGHT else DARK_CODE).items():
        formats[kind] = QTextCharFormat()
        formats[kind].setForeground(QColor(colour))
    return formats
