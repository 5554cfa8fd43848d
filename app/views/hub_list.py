"""The list of repositories that were found.

A `HubItemModel` goes in, the repository that is marked comes out, once somebody rests on it. Knows nothing
about searching.
"""

from __future__ import annotations

import html

from PySide6.QtCore import QEvent, QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QListView, QToolTip, QWidget

from app.item_models.hub_item_model import HubItemModel
from app.views.hub_delegate import HubDelegate
from app.views.hub_words import repo_in_words

REST_MS = 250
"""How long a repository must stay marked before it is opened: arrow keys go past many."""


class HubList(QListView):
    """Rows that are equally high."""

    chosen = Signal(object)
    """The `RepoSummary` to open."""

    def __init__(self, repos: HubItemModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._repos = repos
        self.setObjectName("library")  # dressed like it
        self.setAccessibleName(self.tr("Repositories that were found"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setItemDelegate(HubDelegate(self))
        self.setModel(repos)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self._open)
        self.selectionModel().currentChanged.connect(self._on_current)
        self.clicked.connect(lambda _index: self._open())
        repos.modelReset.connect(self._rest.stop)

    def mark(self, row: int) -> None:
        """Mark a row, as near as there is one."""
        row = min(max(0, row), self._repos.rowCount() - 1)
        self.setCurrentIndex(self._repos.index(row))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter opens at once."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open()
        else:
            super().keyPressEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        """A tool tip says what had no room. As text, never as rich text: a name may hold markup."""
        if isinstance(event, QHelpEvent):
            repo = self._repos.repo_at(self.indexAt(event.pos()).row())
            words = html.escape(repo_in_words(repo)) if repo else ""
            QToolTip.showText(event.globalPos(), f"<p>{words}</p>" if words else "", self)
            return True
        return super().viewportEvent(event)

    def _on_current(self, index: QModelIndex) -> None:
        if index.isValid():
            self._rest.start()

    def _open(self) -> None:
        self._rest.stop()
        if repo := self._repos.repo_at(self.currentIndex().row()):
            self.chosen.emit(repo)
