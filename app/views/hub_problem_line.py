"""What the Hub refused, where it was asked, with a button for each thing that would help.

A `HubProblem` or a sentence goes in, the `Remedy` that was chosen comes out. Knows nothing about the Hub.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.services.hub_problem import HubProblem
from app.views.announcing import announce
from app.views.leading_label import LeadingLabel
from app.views.theme import set_style
from app.views.tokens import UNIT
from engine.hub.hub_errors import Remedy


class HubProblemLine(QFrame):
    """Hidden while there is nothing to say."""

    remedy_chosen = Signal(object, str)
    """A `Remedy`, and the page that belongs to it, if any."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")  # dressed like it
        self.text = LeadingLabel()
        self.text.setWordWrap(True)
        self._url = ""
        self._labels = {
            Remedy.ACCEPT_TERMS: self.tr("Open its page"),
            Remedy.ENTER_TOKEN: self.tr("Enter a token"),
            Remedy.TRY_WITHOUT_TOKEN: self.tr("Try without a token"),
            Remedy.TRY_AGAIN: self.tr("Try again"),
        }
        self.buttons = {remedy: self._button(remedy) for remedy in Remedy}
        row = QHBoxLayout()
        row.setSpacing(UNIT)
        for button in self.buttons.values():
            row.addWidget(button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT * 3 // 2, UNIT, UNIT, UNIT)
        column.setSpacing(UNIT)
        column.addWidget(self.text)
        column.addLayout(row)
        self.hide()

    def show_problem(self, problem: HubProblem) -> None:
        """Say what went wrong."""
        self._show(problem.sentence, problem.remedies, problem.url or "", calm=False)

    def show_hint(self, sentence: str, remedies: Sequence[Remedy], url: str = "") -> None:
        """Say what there is to know before it goes wrong."""
        self._show(sentence, remedies, url, calm=True)

    def _show(self, sentence: str, remedies: Sequence[Remedy], url: str, *, calm: bool) -> None:
        self.text.setText(sentence)
        self._url = url
        for remedy, button in self.buttons.items():
            button.setVisible(remedy in remedies)
        for widget in (self, self.text, *self.buttons.values()):
            set_style(widget, "calm", calm)
        self.show()
        announce(self, sentence)

    def _button(self, remedy: Remedy) -> QPushButton:
        button = QPushButton(self._labels[remedy])
        button.clicked.connect(lambda: self.remedy_chosen.emit(remedy, self._url))
        return button
