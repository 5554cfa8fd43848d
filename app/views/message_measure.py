"""How wide messages are, and about how high one will be before it is laid out.

Pure arithmetic over the metrics of a font; knows nothing about widgets.
"""

from __future__ import annotations

from PySide6.QtGui import QFontMetrics

from app.data.stored_message import StoredMessage
from app.views.tokens import UNIT

PADDING = UNIT + UNIT // 2
"""Pixels around a message's text."""

COLUMN_CHARACTERS = 80
"""The longest line of text, in average characters."""

_SAMPLE = "The quick brown fox jumps over the lazy dog and runs on, all through the night. "


def widest_column(metrics: QFontMetrics) -> int:
    """How wide the column of messages is where there is room, in pixels."""
    average = metrics.horizontalAdvance(_SAMPLE) / len(_SAMPLE)
    return int(average * COLUMN_CHARACTERS) + 2 * PADDING


def estimated_height(message: StoredMessage, width: int, metrics: QFontMetrics) -> int:
    """About how high `message` will be at `width`, in pixels."""
    text_width = max(1, width - 2 * PADDING)
    per_line = max(1, text_width * COLUMN_CHARACTERS // widest_column(metrics))
    n_lines = message.content.count("\n") + len(message.content) // per_line + 1
    return int(n_lines * metrics.height() * 1.3) + UNIT * 6
