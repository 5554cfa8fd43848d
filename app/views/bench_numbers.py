"""A field for whole numbers with commas between them, as `llama-bench` takes them.

Text goes in, numbers come out. Knows nothing about what they mean.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QLineEdit, QWidget

from app.views.leading_side import leading_side

_LARGEST = 2**31 - 1


class NumbersField(QLineEdit):
    """An empty field is an empty list."""

    def __init__(self, text: str, *, placeholder: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setObjectName("numbers")
        self.setPlaceholderText(placeholder)
        self._align()

    @property
    def can_be_read(self) -> bool:
        """Whether all of it is numbers."""
        return self._parsed() is not None

    def numbers(self) -> tuple[int, ...]:
        """Each once, in their order; () while they cannot be read."""
        return tuple(dict.fromkeys(self._parsed() or ()))

    def changeEvent(self, event: QEvent) -> None:
        """In a window from right to left it begins on the right."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.LayoutDirectionChange:
            self._align()

    def _align(self) -> None:
        self.setAlignment(leading_side(self) | Qt.AlignmentFlag.AlignVCenter)

    def _parsed(self) -> list[int] | None:
        text = self.text().replace("\N{ARABIC COMMA}", ",").replace(";", ",")
        parts = [part.strip() for part in text.split(",") if part.strip()]
        try:
            numbers = [int(part) for part in parts]
        except ValueError:
            return None
        return numbers if all(0 <= number <= _LARGEST for number in numbers) else None
