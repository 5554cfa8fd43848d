"""What stands in place of the results: that the Hub is being asked, that nothing was found, that it failed.

A state goes in, wishes come out. Knows nothing about searching.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.services.hub_problem import HubProblem
from app.services.hub_search import Question
from app.views.announcing import announce
from app.views.hub_problem_line import HubProblemLine
from app.views.leading_label import LeadingLabel
from app.views.settings_row import muted_label
from app.views.tokens import UNIT
from engine.hub.hub import GGUF_ONLY


class DiscoverMessage(QWidget):
    """A title, a text, and what can be done."""

    all_formats_requested = Signal()
    """Look for what cannot be loaded, too."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.text = LeadingLabel(), muted_label()
        self.title.setProperty("strong", True)
        self.busy = QProgressBar()
        self.busy.setRange(0, 0)
        self.busy.setTextVisible(False)
        self.busy.setMaximumWidth(UNIT * 30)
        self.busy.setAccessibleName(self.tr("Asking the Hub"))
        self.problem = HubProblemLine()
        self.all_formats = QPushButton(self.tr("Look in all formats"))
        self.all_formats.setObjectName("pageButton")
        self.all_formats.clicked.connect(self.all_formats_requested)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, UNIT * 2, 0, 0)
        column.setSpacing(UNIT)
        for part in (self.title, self.text, self.busy, self.problem):
            column.addWidget(part)
        column.addWidget(self.all_formats, 0, Qt.AlignmentFlag.AlignLeading)
        column.addStretch(1)

    def show_asking(self, host: str) -> None:
        """The first page is on its way."""
        self._show(self.tr("Asking {0}").format(host), "")
        self.busy.show()

    def show_nothing(self, question: Question) -> None:
        """Nothing was found."""
        only_gguf = question.formats == GGUF_ONLY and question.versions_of is None
        if question.versions_of is not None:
            text = self.tr("Nobody has published {0} as GGUF, as far as the Hub knows.").format(question.text)
        elif only_gguf:
            text = self.tr(
                "Try fewer letters, or look for the model in other formats and for its GGUF versions."
            )
        else:
            text = self.tr("Try fewer letters.")
        self._show(self.tr("No repository was found"), text)
        self.all_formats.setVisible(only_gguf)

    def show_problem(self, problem: HubProblem) -> None:
        """The Hub could not be asked."""
        self._show("", "")
        self.problem.show_problem(problem)

    def _show(self, title: str, text: str) -> None:
        for label, words in ((self.title, title), (self.text, text)):
            label.setText(words)
            label.setVisible(bool(words))
        for part in (self.busy, self.problem, self.all_formats):
            part.hide()
        if title:
            announce(self, title)
