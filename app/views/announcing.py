"""Telling screen readers what changed away from the keyboard's focus.

A widget and a sentence go in. Costs nothing while no screen reader listens.
"""

from __future__ import annotations

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget


def announce(widget: QWidget, words: str) -> None:
    """Have `words` spoken when the screen reader has said what it is saying."""
    if QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, words))
