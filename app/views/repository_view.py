"""One repository: what it is, what it asks for, its files and how each fits here.

A `RepoSummary` goes in when it is chosen, then its details, its fits or a problem; wishes come out. Promises:
a gated repository says so until one of its files could be read; one without GGUF models says what it holds
instead and offers to look for those that Weir can load. Knows nothing about the Hub.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.services.hub_fits import RemoteFit
from app.services.hub_problem import HubProblem
from app.views.announcing import announce
from app.views.chat_list_delegate import in_own_direction
from app.views.download_button import KnownDownloads
from app.views.hub_problem_line import HubProblemLine
from app.views.hub_words import gating_in_words, no_models_in_words, repo_facts
from app.views.leading_label import LeadingLabel
from app.views.library_words import SEPARATOR
from app.views.remote_file_list import RemoteFileList
from app.views.settings_row import muted_label
from app.views.tokens import UNIT
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import Gating, RepoDetails, RepoSummary


class RepositoryView(QScrollArea):
    """Shows one repository at a time; all of it scrolls, since a small window has no room for a notice."""

    download_requested = Signal(object)
    """A `RemoteModel`."""

    versions_requested = Signal(str)
    """Search for GGUF versions of this repository."""

    remedy_chosen = Signal(object, str)
    """A `Remedy` for what was refused, and the page that belongs to it."""

    page_requested = Signal(str)
    """Open the page of this repository in the browser."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Repository"))
        self.setObjectName("page")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.repo: RepoSummary | None = None
        self.title = LeadingLabel()
        self.title.setObjectName("groupTitle")
        self.title.setWordWrap(True)
        self.facts, self.state = muted_label(), muted_label()
        self.page_button = self._button(self.tr("Open its page"))
        self.page_button.clicked.connect(lambda: self.page_requested.emit(self.repo_id))
        self.gate, self.problem = HubProblemLine(), HubProblemLine()
        self.versions = self._button(self.tr("Search for its GGUF versions"))
        self.versions.clicked.connect(lambda: self.versions_requested.emit(self.repo_id))
        self.files = RemoteFileList()
        self.files.download_requested.connect(self.download_requested)
        for line in (self.gate, self.problem):
            line.remedy_chosen.connect(self._on_remedy)
        self._arrange()
        self.show_nothing()

    @property
    def repo_id(self) -> str:
        """The name of the repository that is shown, empty without one."""
        return self.repo.repo_id if self.repo else ""

    def show_nothing(self) -> None:
        """No repository is chosen."""
        self.repo = None
        self._clear()
        self.title.setText("")
        self.facts.setText("")
        self.page_button.hide()
        self._say(self.tr("Choose a repository to see its files."))

    def show_repo(self, repo: RepoSummary) -> None:
        """What the list knows of it; its details are on their way."""
        self._show_summary(repo)
        self._clear()
        self._say(self.tr("Asking the Hub for its files."))
        self._show_gate(repo)

    def show_details(self, details: RepoDetails) -> None:
        """Its files."""
        self._show_summary(details.summary)
        self._clear()
        self._show_gate(details.summary)
        self.files.show_models(details.models)
        self._say("" if details.models else no_models_in_words(details))
        self.versions.setVisible(not details.models)
        announce(self, self.tr("{0} files").format(len(details.models)))

    def show_fits(self, fits: Mapping[str, RemoteFit]) -> None:
        """How some of its files fit, or why that cannot be told."""
        self.files.show_fits(fits)
        if any(fit.plan for fit in fits.values()):
            self.gate.hide()  # whoever may read its files has been let in
            self.page_button.show()
        problem = next((fit.problem for fit in fits.values() if fit.problem), None)
        # What the gate asks for is said already.
        if problem and not (self.gate.isVisibleTo(self) and Remedy.ACCEPT_TERMS in problem.remedies):
            self.problem.show_problem(problem)

    def show_problem(self, problem: HubProblem) -> None:
        """Why there are no details."""
        self._clear()
        self._say("")
        self.problem.show_problem(problem)

    def show_known(self, known: KnownDownloads) -> None:
        """What is here, and what is on its way."""
        self.files.show_known(known)

    def _show_summary(self, repo: RepoSummary) -> None:
        self.repo = repo
        self.title.setText(in_own_direction(repo.repo_id))
        self.facts.setText(SEPARATOR.join(repo_facts(repo)))
        self.page_button.show()

    def _show_gate(self, repo: RepoSummary) -> None:
        is_gated = repo.gating is not Gating.NONE
        self.page_button.setVisible(not is_gated)  # the hint has a button for that
        if is_gated:
            self.gate.show_hint(gating_in_words(repo.gating), (Remedy.ACCEPT_TERMS, Remedy.ENTER_TOKEN))

    def _on_remedy(self, remedy: Remedy, url: str) -> None:
        if remedy is Remedy.ACCEPT_TERMS and not url:
            self.page_requested.emit(self.repo_id)
        else:
            self.remedy_chosen.emit(remedy, url)

    def _clear(self) -> None:
        self.gate.hide()
        self.problem.hide()
        self.versions.hide()
        self.files.show_models(())
        self.verticalScrollBar().setValue(0)

    def _say(self, words: str) -> None:
        self.state.setText(words)
        self.state.setVisible(bool(words))

    def _button(self, words: str) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName("formButton")
        return button

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(UNIT)
        head.addWidget(self.title, 1)
        head.addWidget(self.page_button, 0, Qt.AlignmentFlag.AlignTop)
        content = QWidget()
        content.setObjectName("pageContent")
        column = QVBoxLayout(content)
        column.setContentsMargins(UNIT, UNIT // 2, UNIT, 0)
        column.setSpacing(UNIT)
        column.addLayout(head)
        for part in (self.facts, self.gate, self.problem, self.state):
            column.addWidget(part)
        column.addWidget(self.versions, 0, Qt.AlignmentFlag.AlignLeading)
        column.addWidget(self.files, 1)
        self.setWidget(content)
