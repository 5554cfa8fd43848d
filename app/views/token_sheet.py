"""Entering a token for the Hub, and forgetting it.

Whether there is a token and where it lies comes from a `HubToken`; what is entered goes there. Promises: the
field never shows a letter, is emptied as soon as it was read, and a kept token is never shown again. Knows
nothing about what the token is for.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.services.hub_problem import HubProblem
from app.services.hub_token import HubToken
from app.views.announcing import announce
from app.views.hub_words import source_in_words
from app.views.leading_label import LeadingLabel
from app.views.settings_row import muted_label
from app.views.tokens import UNIT
from engine.hub.token_store import TokenSource


class TokenSheet(QFrame):
    """Hidden until somebody wants it."""

    closed = Signal()
    """It is hidden again: the focus may go back."""

    def __init__(self, token: HubToken, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._token = token
        self.setObjectName("planVerdict")  # dressed like it
        self.setAccessibleName(self.tr("Token for the Hub"))
        self.title = LeadingLabel(self.tr("Token for the Hub"))
        self.title.setProperty("strong", True)
        self.source, self.problem = muted_label(), muted_label()
        self.problem.setProperty("warns", True)
        self.problem.hide()
        self.field = self._make_field()
        self.save_button = self._button(self.tr("Keep"), self._save)
        self.delete_button = self._button(self.tr("Forget the token"), token.delete)
        self.close_button = self._button(self.tr("Close"), self.leave)
        self._arrange()
        self._show_source(None)
        self.hide()
        token.found.connect(self._show_source)
        token.failed.connect(self._show_problem)
        self.field.textChanged.connect(lambda text: self.save_button.setEnabled(bool(text.strip())))
        self.field.returnPressed.connect(self._save)

    def ask(self) -> None:
        """Show the sheet, with the focus in its field."""
        self.problem.hide()
        self.show()
        self.field.setFocus()
        self._token.look()

    def leave(self) -> None:
        """Hide it, and forget what was typed."""
        self.field.clear()
        self.hide()
        self.closed.emit()

    def event(self, event: QEvent) -> bool:
        """Escape leaves the sheet."""
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            if event.type() is QEvent.Type.KeyPress:
                self.leave()
            event.accept()
            return True
        return super().event(event)

    def _save(self) -> None:
        text = self.field.text()
        self.field.clear()
        if text.strip():
            self.problem.hide()
            self._token.save(text)

    def _show_source(self, source: TokenSource | None) -> None:
        self.problem.hide()
        words = source_in_words(source)
        if words != self.source.text():
            announce(self, words)
        self.source.setText(words)
        self.delete_button.setVisible(source is not None and source.is_entered)

    def _show_problem(self, problem: HubProblem) -> None:
        self.problem.setText(problem.sentence)
        self.problem.show()
        announce(self, problem.sentence)

    def _make_field(self) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName("tokenField")
        field.setEchoMode(QLineEdit.EchoMode.Password)
        field.setPlaceholderText(self.tr("hf_ \N{HORIZONTAL ELLIPSIS}"))
        field.setAccessibleName(self.tr("Token, as copied from the page of your tokens"))
        return field

    def _button(self, words: str, act: Callable[[], None]) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName("formButton")
        button.clicked.connect(act)
        return button

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(UNIT)
        row.addWidget(self.field, 1)
        row.addWidget(self.save_button)
        foot = QHBoxLayout()
        foot.setSpacing(UNIT)
        foot.addWidget(self.delete_button)
        foot.addStretch(1)
        foot.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT * 3 // 2, UNIT, UNIT * 3 // 2, UNIT)
        column.setSpacing(UNIT)
        self.save_button.setEnabled(False)
        for part in (self.title, self.source):
            column.addWidget(part)
        column.addLayout(row)
        column.addWidget(self.problem)
        column.addLayout(foot)
