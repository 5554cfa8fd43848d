"""Where the keyboard was before something else took it.

The widget that has the focus goes in, and gets it back. Knows nothing about who asks.
"""

from __future__ import annotations

import shiboken6
from PySide6.QtWidgets import QApplication, QWidget


class FocusReturn:
    """Remembers one widget, which may be gone by the time it is wanted again."""

    def __init__(self) -> None:
        self._widget: QWidget | None = None

    def remember(self, taker: QWidget) -> None:
        """Remember who has the focus now, unless that is `taker` or inside of it."""
        widget = QApplication.focusWidget()
        if widget and widget is not taker and not taker.isAncestorOf(widget):
            self._widget = widget

    def forget(self) -> None:
        """Leave the focus where it is from now on."""
        self._widget = None

    def give_back(self) -> bool:
        """Give the focus to the remembered widget; False if that is not possible any more."""
        widget, self._widget = self._widget, None
        if widget is None or not shiboken6.isValid(widget) or not widget.isVisible():
            return False
        widget.setFocus()
        return True
