"""Repositories that were found on the Hub, as Qt's list views want them: page after page.

Pages of `RepoSummary`s go in, rows come out, in the order of the Hub. Promises: a repository has one row,
also where two pages name it; a view that nears the end asks with `more_requested`, once for each page. Knows
nothing about how a row looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt, Signal

from app.item_models.chat_list_item_model import Index
from engine.hub.hub_values import RepoSummary

REPO_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `RepoSummary` of a row."""

_ROOT = QModelIndex()


class HubItemModel(QAbstractListModel):
    """One row a repository."""

    more_requested = Signal()
    """The end is in sight, and there is more."""

    def __init__(
        self,
        describe: Callable[[RepoSummary], str] = lambda repo: repo.repo_id,
        parent: QObject | None = None,
    ) -> None:
        """`describe` says all of a row in words, for screen readers."""
        super().__init__(parent)
        self._describe = describe
        self._repos: list[RepoSummary] = []
        self._ids: set[str] = set()
        self._has_more = False

    def show_first(self, repos: Iterable[RepoSummary], has_more: bool) -> None:
        """Show these instead of what was found before."""
        self.beginResetModel()
        self._ids = set()
        self._repos = self._new(repos)
        self._has_more = has_more
        self.endResetModel()

    def append(self, repos: Iterable[RepoSummary], has_more: bool) -> None:
        """Show these below what was found before."""
        self._has_more = has_more
        new = self._new(repos)
        if new:
            n_rows = len(self._repos)
            self.beginInsertRows(_ROOT, n_rows, n_rows + len(new) - 1)
            self._repos += new
            self.endInsertRows()

    def clear(self) -> None:
        """Show nothing."""
        self.show_first((), has_more=False)

    def stop(self) -> None:
        """There is no more to be had."""
        self._has_more = False

    def repo_at(self, row: int) -> RepoSummary | None:
        """The repository of a row, None outside."""
        return self._repos[row] if 0 <= row < len(self._repos) else None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many were found so far."""
        return 0 if parent.isValid() else len(self._repos)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The name; all in words for screen readers."""
        if not index.isValid():
            return None
        repo = self._repos[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return repo.repo_id
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._describe(repo)
        return repo if role == REPO_ROLE else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Every row can be chosen."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flag = Qt.ItemFlag
        return flag.ItemIsSelectable | flag.ItemIsEnabled | flag.ItemNeverHasChildren

    def canFetchMore(self, parent: Index) -> bool:
        """Whether the Hub has more."""
        return self._has_more and not parent.isValid()

    def fetchMore(self, parent: Index) -> None:
        """Ask for the next page."""
        if self.canFetchMore(parent):
            self._has_more = False  # until that page has come
            self.more_requested.emit()

    def _new(self, repos: Iterable[RepoSummary]) -> list[RepoSummary]:
        """Those that are not shown yet, each once."""
        new = []
        for repo in repos:
            if repo.repo_id not in self._ids:
                self._ids.add(repo.repo_id)
                new.append(repo)
        return new
