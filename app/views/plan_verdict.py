"""Whether a model fits, how fast it will be, and what would fit instead.

A `PlanResult` goes in, the wish behind a button that was pressed comes out. Knows nothing about how it was
counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.services.plan_reasons import reasons_of
from app.services.plan_result import PlanResult
from app.views.announcing import announce
from app.views.leading_label import LeadingLabel
from app.views.plan_words import speed_in_words, wishes_in_words
from app.views.settings_row import muted_label
from app.views.theme import set_style
from app.views.tokens import UNIT
from engine.memory.memory_plan import Wishes


class PlanVerdict(QFrame):
    """A frame with the verdict; a warning where the model cannot be loaded so."""

    wished = Signal(object)
    """The `Wishes` that somebody wants to have instead."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("planVerdict")
        self.headline = LeadingLabel()
        self.headline.setProperty("strong", True)
        self.headline.setWordWrap(True)
        self.reasons, self.speed = muted_label(), muted_label()
        self.suggestions: list[QPushButton] = []
        self._fitting: tuple[Wishes, ...] = ()
        self._row = QHBoxLayout()
        self._row.setSpacing(UNIT)
        self._row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT * 3 // 2, UNIT, UNIT * 3 // 2, UNIT)
        column.setSpacing(UNIT // 2)
        for part in (self.headline, self.reasons, self.speed):
            column.addWidget(part)
        column.addLayout(self._row)

    def show_waiting(self) -> None:
        """Nothing is known yet."""
        self._show(self.tr("Looking at the file and at this machine's memory."), (), "", warns=False)
        self._suggest(Wishes(), ())

    def show_plan(self, result: PlanResult) -> None:
        """Show the verdict, and a button for each change that would fit."""
        headline, *others = reasons_of(result)
        speed = speed_in_words(result.plan) if result.plan and result.may_load else ""
        self._show(headline, others, speed, warns=not result.may_load)
        self._suggest(result.wishes, result.fitting)

    def _show(self, headline: str, reasons: Sequence[str], speed: str, *, warns: bool) -> None:
        if headline != self.headline.text():
            announce(self, headline)
        self.headline.setText(headline)
        self.reasons.setText("\n".join(reasons))
        self.reasons.setVisible(bool(reasons))
        self.speed.setText(speed)
        self.speed.setVisible(bool(speed))
        for widget in (self, self.headline, self.reasons):
            set_style(widget, "warns", warns)

    def _suggest(self, now: Wishes, fitting: Sequence[Wishes]) -> None:
        self._fitting = tuple(fitting)
        while len(self.suggestions) > len(fitting):
            self.suggestions.pop().deleteLater()
        while len(self.suggestions) < len(fitting):
            self._add_button(len(self.suggestions))
        for button, wishes in zip(self.suggestions, fitting, strict=True):
            button.setText(wishes_in_words(now, wishes))

    def _add_button(self, index: int) -> None:
        button = QPushButton()
        button.setObjectName("formButton")
        button.clicked.connect(lambda: self.wished.emit(self._fitting[index]))
        self.suggestions.append(button)
        self._row.insertWidget(index, button)
