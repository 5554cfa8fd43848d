"""A menu of how many answers shall be written side by side.

Nothing goes in; the number that was chosen comes out. Digits choose too, by their mnemonics.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from app.services.variants import MOST_VARIANTS


class VariantsMenu(QMenu):
    """One entry for each number; it deletes itself when it closes unless it belongs to another menu."""

    chosen = Signal(int)
    """How many answers are wished for."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(title, parent)
        self.setAccessibleName(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, not isinstance(parent, QMenu))
        for number in range(2, MOST_VARIANTS + 1):
            self.addAction(self.tr("Answer &{0} times").format(number), partial(self.chosen.emit, number))
