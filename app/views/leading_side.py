"""The side where lines of a widget begin, for what Qt puts on the side where its text begins instead."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def leading_side(widget: QWidget) -> Qt.AlignmentFlag:
    """To the right in a window from right to left, whatever language the text is in."""
    flag = Qt.AlignmentFlag
    return (flag.AlignRight if widget.isRightToLeft() else flag.AlignLeft) | flag.AlignAbsolute
