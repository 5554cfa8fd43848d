"""One download: what it is, how far it has come, and the buttons for what can be done now.

A `DownloadState` goes in, wishes come out. Promises that the focus stays in the row when its button goes.
Knows nothing about queues.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.views import download_words
from app.views.chat_list_delegate import in_own_direction
from app.views.leading_label import LeadingLabel
from app.views.settings_row import muted_label
from app.views.theme import set_style
from app.views.tokens import UNIT
from engine.download.download_values import DownloadState, DownloadStatus
from engine.hub.hub_errors import Remedy

_STEPS = 1000
_GOES = frozenset(
    {
        DownloadStatus.QUEUED,
        DownloadStatus.CHECKING,
        DownloadStatus.RUNNING,
        DownloadStatus.STALLED,
        DownloadStatus.WAITING,
    }
)


class DownloadRow(QFrame):
    """All signals concern the download that is shown."""

    pause_requested = Signal()
    resume_requested = Signal()
    cancel_requested = Signal()
    """Forget it, with what was fetched unless it is done."""

    undo_requested = Signal()
    """It was cancelled, and is wanted back."""

    use_requested = Signal()
    reveal_requested = Signal()
    move_requested = Signal(int)
    """By so many places, up if negative."""

    remedy_chosen = Signal(object)
    """A `Remedy` that may help, other than to try again, which is `resume_requested`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("download")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.state: DownloadState | None = None
        self.name, self.repository, self.figures = _CutLabel(), _CutLabel(), _CutLabel()
        self.name.setProperty("strong", True)
        self.repository.setProperty("muted", True)
        self.figures.setProperty("muted", True)
        self.bar = QProgressBar()
        self.bar.setRange(0, _STEPS)
        self.bar.setTextVisible(False)
        self.reason = muted_label()
        self.toggle, self.use = QPushButton(), QPushButton(self.tr("Use"))
        self.reveal, self.cancel = QPushButton(self.tr("Show in its folder")), QPushButton(self.tr("Cancel"))
        self.remedies: dict[Remedy, QPushButton] = {}  # made when they are first needed
        self._arrange()
        self._connect()

    def show_state(self, state: DownloadState) -> None:
        """Show it as it is now."""
        before, self.state = self.state, state
        self.name.setText(in_own_direction(download_words.name(state)))
        self.repository.setText(in_own_direction(download_words.repository(state)))
        self.figures.setText(download_words.figures(state))
        done = state.done_bytes * _STEPS // state.total_bytes if state.total_bytes else _STEPS
        self.bar.setValue(done)
        self.reason.setText(download_words.reason(state))
        if before is None or (state.status, state.remedies) != (before.status, before.remedies):
            self._dress(state)

    def event(self, event: QEvent) -> bool:
        """All of it in words whenever a screen reader arrives here; not with each byte."""
        if event.type() is QEvent.Type.FocusIn and self.state:
            self.setAccessibleName(download_words.all_in_words(self.state))
        return super().event(event)

    # --- what can be done -------------------------------------------------------------------------

    def _dress(self, state: DownloadState) -> None:
        """Buttons and colours for another status."""
        focused = self.focusWidget()
        had_focus = focused is not None and focused.hasFocus()
        status, name = state.status, download_words.name(state)
        goes, failed = status in _GOES, status is DownloadStatus.FAILED
        is_cancelled = status is DownloadStatus.CANCELLED
        is_done = status is DownloadStatus.DONE
        can_retry = failed and Remedy.TRY_AGAIN in state.remedies
        self.toggle.setText(self._toggle_words(status))
        self.toggle.setVisible(goes or can_retry or is_cancelled or status is DownloadStatus.PAUSED)
        self.use.setVisible(is_done)
        self.reveal.setVisible(is_done)
        self.cancel.setVisible(status not in (DownloadStatus.DONE, DownloadStatus.ELSEWHERE))
        # It stays where it is, so that the second half of a double click meets nothing, least of all Undo.
        had_cancel = self.cancel.hasFocus()
        self.cancel.setEnabled(not is_cancelled)
        if had_cancel and is_cancelled:
            self.toggle.setFocus()
        self.bar.setVisible(not is_done)
        self.reason.setVisible(failed or status is DownloadStatus.WAITING)
        set_style(self.reason, "warns", failed)
        self._show_remedies(state.remedies if failed else ())
        self._name_all(name)
        self.setAccessibleName(download_words.all_in_words(state))
        if had_focus and focused is not None and not focused.isVisibleTo(self):
            self.setFocus()

    def _show_remedies(self, remedies: Sequence[Remedy]) -> None:
        """One button each, the likeliest to help first."""
        wanted = [remedy for remedy in remedies if remedy is not Remedy.TRY_AGAIN]
        for place, remedy in enumerate(wanted):
            if remedy not in self.remedies:
                self.remedies[remedy] = self._make_remedy(remedy)
            self._helps_row.insertWidget(place, self.remedies[remedy])
        for made, button in self.remedies.items():
            button.setVisible(made in wanted)
        self._helps.setVisible(bool(wanted))

    def _make_remedy(self, remedy: Remedy) -> QPushButton:
        button = QPushButton(download_words.remedy_in_words(remedy))
        button.setObjectName("formButton")
        button.clicked.connect(lambda: self.remedy_chosen.emit(remedy))
        return button

    def _toggle_words(self, status: DownloadStatus) -> str:
        if status is DownloadStatus.FAILED:
            return download_words.remedy_in_words(Remedy.TRY_AGAIN)
        if status is DownloadStatus.CANCELLED:
            return self.tr("Undo")
        return self.tr("Pause") if status in _GOES else self.tr("Resume")

    def _name_all(self, name: str) -> None:
        """Which download a button is for, for those who hear only the button."""
        for button in (self.toggle, self.use, self.reveal, self.cancel, *self.remedies.values()):
            button.setAccessibleName(f"{button.text()}: {name}")
        self.bar.setAccessibleName(self.tr("How much of {0} has come").format(name))

    def _press_toggle(self) -> None:
        if self.state is None:
            return
        if self.state.status is DownloadStatus.CANCELLED:
            self.undo_requested.emit()
        else:
            (self.pause_requested if self.state.status in _GOES else self.resume_requested).emit()

    def _connect(self) -> None:
        self.toggle.clicked.connect(self._press_toggle)
        self.use.clicked.connect(self.use_requested)
        self.reveal.clicked.connect(self.reveal_requested)
        self.cancel.clicked.connect(self.cancel_requested)
        self._add_action(self.tr("Move up"), "Alt+Up", lambda: self.move_requested.emit(-1))
        self._add_action(self.tr("Move down"), "Alt+Down", lambda: self.move_requested.emit(1))
        self._add_action(self.tr("Remove from the list"), "Delete", self._ask_to_cancel)

    def _ask_to_cancel(self) -> None:
        if self.state and self.state.status not in (DownloadStatus.ELSEWHERE, DownloadStatus.CANCELLED):
            self.cancel_requested.emit()

    def _add_action(self, words: str, keys: str, act: object) -> None:
        action = QAction(words, self)
        action.setShortcut(QKeySequence(keys))
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        action.triggered.connect(act)
        self.addAction(action)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    # --- the widget -------------------------------------------------------------------------------

    def _arrange(self) -> None:
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self.name)
        texts.addWidget(self.repository)
        top = QHBoxLayout()
        top.setSpacing(UNIT)
        top.addLayout(texts, 1)
        for button in (self.reveal, self.use, self.toggle, self.cancel):
            button.setObjectName("formButton")
            top.addWidget(button)
        self._helps = QWidget()
        self._helps_row = QHBoxLayout(self._helps)
        self._helps_row.setContentsMargins(0, 0, 0, 0)
        self._helps_row.setSpacing(UNIT)
        self._helps_row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT * 3 // 2, UNIT, UNIT, UNIT)
        column.setSpacing(UNIT * 3 // 4)
        column.addLayout(top)
        for widget in (self.bar, self.figures, self.reason, self._helps):
            column.addWidget(widget)


class _CutLabel(LeadingLabel):
    """Ends in dots where there is no room, whatever is written on it."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def minimumSizeHint(self) -> QSize:
        """May shrink to nothing."""
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The text, cut where the label ends."""
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), self.alignment() | Qt.TextFlag.TextSingleLine, shown)
        painter.end()
