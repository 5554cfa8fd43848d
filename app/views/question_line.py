"""A sentence with buttons, where it concerns something: a question, or what went wrong.

Answers come with what shall be done then. Promises: a new question replaces the old one, whose answers are
forgotten; the last answer is the one that changes nothing, and Escape gives it. Knows nothing about what is
asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.views.announcing import announce
from app.views.leading_label import LeadingLabel
from app.views.theme import set_style
from app.views.tokens import UNIT

Answer = tuple[str, Callable[[], None]]


class QuestionLine(QFrame):
    """Hidden while there is nothing to ask."""

    answered = Signal()
    """A button was pressed: the focus may go back."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")  # dressed like it
        self.text = LeadingLabel()
        self.text.setWordWrap(True)
        self.buttons: list[QPushButton] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(UNIT * 3 // 2, UNIT, UNIT, UNIT)
        self._row.setSpacing(UNIT)
        self._row.addWidget(self.text, 1)
        self.hide()

    def ask(self, sentence: str, answers: Sequence[Answer], *, calm: bool = True) -> None:
        """Ask, with the focus on the last answer; a question that is not `calm` looks like a warning."""
        self._drop_buttons()
        self.text.setText(sentence)
        for words, act in answers:
            self._add_button(words, act)
        for widget in (self, self.text, *self.buttons):
            set_style(widget, "calm", calm)
        self.show()
        announce(self, sentence)
        self.buttons[-1].setFocus()

    def tell(self, sentence: str) -> None:
        """Say what went wrong, until it is dismissed."""
        self.ask(sentence, [(self.tr("Dismiss"), _nothing)], calm=False)

    def event(self, event: QEvent) -> bool:
        """Escape gives the answer that changes nothing."""
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and self.buttons:
            if event.type() is QEvent.Type.KeyPress:
                self.buttons[-1].click()
            event.accept()
            return True
        return super().event(event)

    def _add_button(self, words: str, act: Callable[[], None]) -> None:
        button = QPushButton(words)
        button.clicked.connect(lambda: self._answer(act))
        self.buttons.append(button)
        self._row.addWidget(button)

    def _answer(self, act: Callable[[], None]) -> None:
        self.hide()
        self._drop_buttons()
        self.answered.emit()
        act()

    def _drop_buttons(self) -> None:
        while self.buttons:
            button = self.buttons.pop()
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()


def _nothing() -> None:
    """Nothing is to be done."""
