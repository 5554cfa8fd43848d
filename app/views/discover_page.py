"""Models that could be downloaded: those that are proposed, and a search of the Hub.

Services of the Hub go in; the wish to download a model comes out. Promises: nothing is asked of the Hub
before somebody searches, opens a repository or presses Download; typing never waits; what could not be asked
says what would help, with a button for it. Knows nothing about downloads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from app.services.hub_access import HubAccess
from app.services.hub_problem import HubProblem
from app.services.hub_repository import HubRepository
from app.services.hub_search import ALL_FORMATS, FoundPage, HubSearch, Question
from app.services.hub_token import HubToken
from app.services.model_proposals import ModelProposals
from app.views.discover_bar import DiscoverBar
from app.views.discover_message import DiscoverMessage
from app.views.discover_results import DiscoverResults
from app.views.download_button import KnownDownloads
from app.views.focus_return import FocusReturn
from app.views.proposals_view import ProposalsView
from app.views.token_sheet import TokenSheet
from app.views.tokens import UNIT
from engine.errors import KnownError
from engine.hub.hub import GGUF_ONLY
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RepoDetails, RepoSummary, Sort, WeightsFormat


class DiscoverPage(QWidget):
    """One part of the page of models."""

    download_requested = Signal(object)
    """A `RemoteModel`."""

    def __init__(
        self,
        access: HubAccess,
        search: HubSearch,
        repository: HubRepository,
        token: HubToken,
        proposals: ModelProposals,
        *,
        open_url: Callable[[str], object] = lambda url: QDesktopServices.openUrl(QUrl(url)),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._access = access
        self._search = search
        self._repository = repository
        self._open_url = open_url
        self._focus = FocusReturn()
        self.setAccessibleName(self.tr("Discover models"))
        self.bar = DiscoverBar()
        self.field, self.order = self.bar.field, self.bar.order
        self.all_formats, self.token_button = self.bar.all_formats, self.bar.token_button
        self.sheet = TokenSheet(token)
        self.proposals = ProposalsView(proposals)
        self.results, self.message = DiscoverResults(), DiscoverMessage()
        self._arrange()
        self._connect()
        self.setFocusProxy(self.field)

    def show_downloads(
        self, installed: Collection[str], downloading: Collection[str], stopped: Collection[str] = ()
    ) -> None:
        """The `RemoteModel.id`s of models that are here, of those on their way, of those that failed."""
        known = KnownDownloads.of(installed, downloading, stopped)
        self.results.repository.show_known(known)
        self.proposals.show_known(known)

    def open_repository(self, repo_id: str) -> None:
        """Search for one repository, and open it."""
        self.field.setText(repo_id)
        self._search.hurry()
        self._open(RepoSummary(repo_id, WeightsFormat.GGUF))

    # --- what is asked ----------------------------------------------------------------------------

    def _connect(self) -> None:
        search, repository = self._search, self._repository
        self.field.textChanged.connect(lambda _text: self._find())
        self.field.confirmed.connect(search.hurry)
        self.field.stepped.connect(self._step)
        self.order.chosen.connect(lambda _sort: self._find_now())
        self.all_formats.toggled.connect(lambda _checked: self._find_now())
        search.started.connect(self._on_started)
        search.found.connect(self._on_found)
        search.failed.connect(self._on_failed)
        search.ended.connect(self._on_ended)
        repository.opened.connect(self._on_opened)
        repository.failed.connect(self._on_not_opened)
        repository.fitted.connect(self._on_fitted)
        self._access.changed.connect(self._ask_again)
        self._connect_parts()

    def _connect_parts(self) -> None:
        view = self.results.repository
        self.results.repo_chosen.connect(self._open)
        self.results.more_requested.connect(self._search.more)
        self.results.problem.remedy_chosen.connect(self._on_search_remedy)
        self.message.problem.remedy_chosen.connect(self._on_search_remedy)
        self.message.all_formats_requested.connect(lambda: self.all_formats.setChecked(True))
        view.download_requested.connect(self.download_requested)
        view.versions_requested.connect(self._find_versions)
        view.page_requested.connect(self._open_page)
        view.remedy_chosen.connect(self._on_repository_remedy)
        self.proposals.download_requested.connect(self.download_requested)
        self.proposals.repository_requested.connect(self.open_repository)
        self.proposals.remedy_chosen.connect(self._on_remedy)
        self.token_button.clicked.connect(self._ask_for_token)
        self.sheet.closed.connect(self._return_focus)

    def _find(self) -> None:
        formats = ALL_FORMATS if self.all_formats.isChecked() else GGUF_ONLY
        self._search.find(self.field.text(), list(Sort)[self.order.currentIndex()], formats)

    def _find_now(self) -> None:
        self._find()
        self._search.hurry()

    def _find_versions(self, repo_id: str) -> None:
        self._search.find_versions(repo_id)

    def _open(self, repo: RepoSummary) -> None:
        self.results.show_repo(repo)
        self._repository.open(repo.repo_id)

    def _open_page(self, repo_id: str) -> None:
        try:
            self._open_url(self._access.hub().page(repo_id))
        except KnownError as error:
            self.results.repository.show_problem(HubProblem(str(error)))

    def _ask_for_token(self) -> None:
        self._focus.remember(self.sheet)
        self.sheet.ask()

    def _return_focus(self) -> None:
        if not self._focus.give_back():
            self.field.setFocus()

    def _ask_again(self) -> None:
        """With another token, or without one."""
        repo = self.results.repository.repo
        self._search.again()
        if repo:
            self._open(repo)

    def _on_search_remedy(self, remedy: Remedy, url: str) -> None:
        if remedy is Remedy.TRY_AGAIN:
            self._search.again()
        else:
            self._on_remedy(remedy, url)

    def _on_repository_remedy(self, remedy: Remedy, url: str) -> None:
        if remedy is Remedy.TRY_AGAIN:
            self._repository.open(self.results.repository.repo_id)
        else:
            self._on_remedy(remedy, url)

    def _on_remedy(self, remedy: Remedy, url: str) -> None:
        match remedy:
            case Remedy.ACCEPT_TERMS:
                self._open_url(url)
            case Remedy.ENTER_TOKEN:
                self._ask_for_token()
            case Remedy.TRY_WITHOUT_TOKEN:
                self._access.leave_token_out()

    # --- what the services tell -------------------------------------------------------------------

    def _on_started(self, question: Question) -> None:
        if question.versions_of is None:
            self._repository.leave()
            self.results.repository.show_nothing()
        self.results.show_asking()
        if not self.results.repos.rowCount():
            self.message.show_asking(self._host())
            self._stack.setCurrentWidget(self.message)

    def _on_found(self, page: FoundPage) -> None:
        self.results.show_page(page)
        if self.results.repos.rowCount():
            self._stack.setCurrentWidget(self.results)
        else:
            self.message.show_nothing(page.question)
            self._stack.setCurrentWidget(self.message)

    def _on_failed(self, problem: HubProblem, is_first: bool) -> None:
        self.results.show_problem(problem)
        if is_first:
            self.results.repos.clear()
            self.message.show_problem(problem)
            self._stack.setCurrentWidget(self.message)

    def _on_ended(self) -> None:
        self._repository.leave()
        self.results.repos.clear()
        self.results.repository.show_nothing()
        self._stack.setCurrentWidget(self._proposed)

    def _on_opened(self, details: RepoDetails) -> None:
        self.results.repository.show_details(details)

    def _on_not_opened(self, _repo_id: str, problem: HubProblem) -> None:
        self.results.repository.show_problem(problem)

    def _on_fitted(self, _repo_id: str, fits: object) -> None:
        self.results.repository.show_fits(fits)  # type: ignore[arg-type]

    # --- the widget -------------------------------------------------------------------------------

    def _step(self, rows: int) -> None:
        if self._stack.currentWidget() is self.results:
            self.results.list.mark(self.results.list.currentIndex().row() + rows)

    def _host(self) -> str:
        try:
            return urlsplit(self._access.hub().endpoint).netloc
        except KnownError:
            return self.tr("the Hub")

    def _arrange(self) -> None:
        self._proposed = QScrollArea()
        self._proposed.setObjectName("page")
        self._proposed.setFrameShape(QFrame.Shape.NoFrame)
        self._proposed.setWidgetResizable(True)
        content = QWidget()
        content.setObjectName("pageContent")
        inner = QVBoxLayout(content)
        inner.setContentsMargins(0, UNIT, UNIT // 2, 0)
        inner.addWidget(self.proposals)
        inner.addStretch(1)
        self._proposed.setWidget(content)
        self._stack = QStackedWidget()
        for part in (self._proposed, self.message, self.results):
            self._stack.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.bar)
        column.addWidget(self.sheet)
        column.addWidget(self._stack, 1)
