"""What was found on the Hub beside the repository that is open, or above it where there is little room.

Pages and problems of a search go in, and what becomes known of a repository; wishes come out. Knows nothing
about searching.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QProgressBar, QSplitter, QVBoxLayout, QWidget

from app.item_models.hub_item_model import HubItemModel
from app.services.hub_problem import HubProblem
from app.services.hub_search import FoundPage
from app.views.hub_list import HubList
from app.views.hub_problem_line import HubProblemLine
from app.views.hub_words import repo_in_words
from app.views.repository_view import RepositoryView
from app.views.tokens import UNIT
from engine.hub.hub_values import RepoSummary

SIDE_BY_SIDE_FROM = UNIT * 90


class DiscoverResults(QWidget):
    """A list and a repository."""

    repo_chosen = Signal(object)
    """The `RepoSummary` to open."""

    more_requested = Signal()
    """The end of the list is in sight."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.repos = HubItemModel(repo_in_words, self)
        self.list = HubList(self.repos)
        self.problem = HubProblemLine()
        self.busy = QProgressBar()
        self.busy.setRange(0, 0)
        self.busy.setTextVisible(False)
        self.busy.setAccessibleName(self.tr("Asking the Hub"))
        self.busy.hide()
        self.repository = RepositoryView()
        found = QWidget()
        column = QVBoxLayout(found)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.busy)
        column.addWidget(self.problem)
        column.addWidget(self.list, 1)
        self._splitter = QSplitter()
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setHandleWidth(1)
        self._splitter.addWidget(found)
        self._splitter.addWidget(self.repository)
        self._splitter.setSizes([UNIT * 42, UNIT * 60])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._splitter)
        self.list.chosen.connect(self.repo_chosen)
        self.repos.more_requested.connect(self.more_requested)
        self.setFocusProxy(self.list)

    def show_asking(self) -> None:
        """Something else is being searched for; what was found before stands until then."""
        self.problem.hide()
        self.busy.show()

    def show_page(self, page: FoundPage) -> None:
        """More was found."""
        self.problem.hide()
        self.busy.hide()
        if page.is_first:
            self.repos.show_first(page.repos, page.has_more)
            self.list.scrollToTop()
        else:
            self.repos.append(page.repos, page.has_more)

    def show_problem(self, problem: HubProblem) -> None:
        """The next page could not be had; what was found stays."""
        self.busy.hide()
        self.repos.stop()
        self.problem.show_problem(problem)

    def show_repo(self, repo: RepoSummary) -> None:
        """This one is being opened."""
        self.repository.show_repo(repo)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Side by side where there is room."""
        super().resizeEvent(event)
        wide = self.width() >= SIDE_BY_SIDE_FROM
        orientation = Qt.Orientation.Horizontal if wide else Qt.Orientation.Vertical
        if self._splitter.orientation() is not orientation:
            self._splitter.setOrientation(orientation)
            self._splitter.setSizes([UNIT * 42, UNIT * 60] if wide else [UNIT * 24, UNIT * 36])
