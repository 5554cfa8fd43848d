"""The downloads: what is on its way, what waits, what has come, and what helps where something failed.

A `Downloads` service goes in; the wish to use a model, to enter a token or to discover models comes out.
Promises that much that was fetched is never deleted without a question, that a press which was meant for
another row cancels nothing, and that an empty page says what to do first. Knows nothing about queues and
servers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.item_models.downloads_item_model import DownloadsItemModel
from app.services.download_ends import can_clear, can_resume
from app.services.downloads import Downloads
from app.services.file_manager import reveal
from app.views import download_words
from app.views.announcing import announce
from app.views.download_list import DownloadList
from app.views.download_row import DownloadRow
from app.views.leading_label import LeadingLabel
from app.views.question_line import QuestionLine
from app.views.settings_controls import ChoiceBox
from app.views.settings_row import muted_label
from app.views.tokens import UNIT
from engine.download.download_values import DownloadState, DownloadStatus
from engine.hub.hub_errors import Remedy

ASKS_FROM_BYTES = 100_000_000
"""What was fetched, and is deleted without a question below this."""

_AT_REST = frozenset(
    {
        DownloadStatus.PAUSED,
        DownloadStatus.FAILED,
        DownloadStatus.DONE,
        DownloadStatus.ELSEWHERE,
        DownloadStatus.CANCELLED,
    }
)


def open_in_browser(page: str) -> None:
    """Open the address of a page."""
    QDesktopServices.openUrl(QUrl(page))


class DownloadsPage(QWidget):
    """One part of the page of models."""

    use_requested = Signal(str)
    """The path of a model to load."""

    token_requested = Signal()
    """Let the user enter a token of the Hub."""

    discover_requested = Signal()
    """Show models that could be downloaded."""

    def __init__(
        self,
        downloads: Downloads,
        *,
        show_file: Callable[[Path], None] = reveal,
        open_page: Callable[[str], None] = open_in_browser,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._downloads = downloads
        self._show_file = show_file
        self._open_page = open_page
        self.setAccessibleName(self.tr("Downloads"))
        self.models = DownloadsItemModel(download_words.name, download_words.all_in_words, self)
        self.parallel = self._make_parallel()
        self.pause_all = QPushButton(self.tr("Pause all"))
        self.resume_all = QPushButton(self.tr("Resume all"))
        self.clear = QPushButton(self.tr("Clear finished"))
        self.clear.setToolTip(
            self.tr("Takes off the list what is done, and what stopped before anything was fetched.")
        )
        self.question = QuestionLine()
        self.list = DownloadList(self.models, self._make_row)
        self.discover = QPushButton(self.tr("Discover models"))
        self._arrange()
        self._connect()
        self.models.show_states(downloads.states)
        self._show_rest()

    # --- what happens -----------------------------------------------------------------------------

    def _connect(self) -> None:
        downloads = self._downloads
        downloads.changed.connect(self._show)
        downloads.finished.connect(self._announce_end)
        downloads.failed.connect(lambda state: announce(self, download_words.all_in_words(state)))
        self.pause_all.clicked.connect(downloads.pause_all)
        self.resume_all.clicked.connect(downloads.resume_all)
        self.clear.clicked.connect(downloads.clear_finished)
        self.parallel.chosen.connect(downloads.set_parallel)
        self.discover.clicked.connect(self.discover_requested)
        self.question.answered.connect(self.list.setFocus)

    def _show(self, states: tuple[DownloadState, ...]) -> None:
        self.models.show_states(states)
        self._show_rest()

    def _show_rest(self) -> None:
        """What stands around the rows."""
        states = self._downloads.states
        self._stack.setCurrentIndex(0 if states else 1)
        statuses = {state.status for state in states}
        self.pause_all.setEnabled(bool(statuses - _AT_REST))
        self.resume_all.setEnabled(any(map(can_resume, states)))
        self._show_clear(states)
        self.setFocusProxy(self.list if states else self.discover)

    def _show_clear(self, states: tuple[DownloadState, ...]) -> None:
        can_be = [state.status for state in states if can_clear(state)]
        is_of_dead = bool(can_be) and DownloadStatus.DONE not in can_be
        self.clear.setText(self.tr("Clear stopped") if is_of_dead else self.tr("Clear finished"))
        self.clear.setEnabled(bool(can_be))

    def _announce_end(self, path: Path) -> None:
        announce(self, self.tr("{0} was downloaded.").format(path.stem))

    # --- rows -------------------------------------------------------------------------------------

    def _make_row(self) -> DownloadRow:
        row = DownloadRow()
        row.pause_requested.connect(lambda: self._with(row, lambda state: self._downloads.pause(state.id)))
        row.resume_requested.connect(lambda: self._with(row, lambda state: self._downloads.resume(state.id)))
        row.cancel_requested.connect(lambda: self._with(row, self._cancel))
        row.undo_requested.connect(
            lambda: self._with(row, lambda state: self._downloads.undo_cancel(state.id))
        )
        row.use_requested.connect(lambda: self._with(row, self._use))
        row.reveal_requested.connect(lambda: self._with(row, self._reveal))
        row.move_requested.connect(
            lambda step: self._with(row, lambda state: self._downloads.move(state.id, step))
        )
        row.remedy_chosen.connect(lambda remedy: self._with(row, lambda state: self._help(state, remedy)))
        return row

    def _with(self, row: DownloadRow, act: Callable[[DownloadState], None]) -> None:
        if row.state:
            act(row.state)

    def _use(self, state: DownloadState) -> None:
        if state.path:
            self.use_requested.emit(str(state.path))

    def _reveal(self, state: DownloadState) -> None:
        if state.path:
            self._show_file(state.path)

    def _cancel(self, state: DownloadState) -> None:
        if self.list.has_just_slid:
            return
        is_done = state.status is DownloadStatus.DONE
        if is_done or state.done_bytes < ASKS_FROM_BYTES:
            self._downloads.cancel(state.id)
            return
        sentence = self.tr("Cancel {0}? The {1} that were fetched are deleted.").format(
            download_words.name(state), download_words.size(state.done_bytes)
        )
        answers = [
            (self.tr("Delete them"), lambda: self._downloads.cancel(state.id)),
            (self.tr("Keep the download"), lambda: None),
        ]
        self.question.ask(sentence, answers)

    def _help(self, state: DownloadState, remedy: Remedy) -> None:
        match remedy:
            case Remedy.ACCEPT_TERMS:
                if state.page:
                    self._open_page(state.page)
            case Remedy.ENTER_TOKEN:
                self.token_requested.emit()
            case Remedy.TRY_WITHOUT_TOKEN:
                self._downloads.retry_without_token(state.id)

    # --- the widget -------------------------------------------------------------------------------

    def _make_parallel(self) -> ChoiceBox:
        choices = (
            (self.tr("One at a time"), 1),
            (self.tr("Two at once"), 2),
            (self.tr("Three at once"), 3),
        )
        box = ChoiceBox(choices)
        box.show_value(self._downloads.parallel)
        box.setAccessibleName(self.tr("How many downloads run at once"))
        return box

    def _arrange(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(UNIT)
        top.addStretch(1)
        for button in (self.pause_all, self.resume_all, self.clear):
            button.setObjectName("formButton")
            top.addWidget(button)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.list)
        self._stack.addWidget(self._make_empty())
        foot = QHBoxLayout()
        foot.addWidget(self.parallel)
        foot.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addLayout(top)
        column.addWidget(self.question)
        column.addWidget(self._stack, 1)
        column.addLayout(foot)

    def _make_empty(self) -> QWidget:
        title = LeadingLabel(self.tr("No downloads"))
        title.setObjectName("emptyTitle")
        text = muted_label(
            self.tr(
                "Discover a model and choose the file that fits this computer. It is fetched here, goes on "
                "by itself after a break, and is checked before it can be used."
            )
        )
        self.discover.setObjectName("pageButton")
        buttons = QHBoxLayout()
        buttons.addWidget(self.discover)
        buttons.addStretch(1)
        empty = QWidget()
        column = QVBoxLayout(empty)
        column.setSpacing(UNIT)
        column.addStretch(1)
        column.addWidget(title)
        column.addWidget(text)
        column.addLayout(buttons)
        column.addStretch(2)
        return empty
