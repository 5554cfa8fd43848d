"""Cells whose text reads in its own direction, also in a window from right to left.

Without it "41 tok/s" reads "tok/s 41" there. Knows nothing about what the cells say.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QStyledItemDelegate

from app.views.gauge_label import isolated


class IsolatingDelegate(QStyledItemDelegate):
    """Otherwise as Qt's own."""

    def displayText(self, value: Any, locale: QLocale | QLocale.Language) -> str:
        """The text, set apart from the direction of the window."""
        return isolated(super().displayText(value, locale))
