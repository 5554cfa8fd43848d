"""The panel above the strip: where the memory is, what the model sees, what the turn cost, how fast it is.

It asks the `GaugeHistory`, the machine's memory, `read_use`, what decoding takes of the bandwidth, and
`name_of`, what chats are called, once a second while it is shown, and not at all while it is hidden; the
model and the fill of the open chat are told. It is closed by Esc, while the focus is in it, or by its button,
and gives the focus back. It measures nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QHideEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.services.bandwidth_use import BandwidthUse
from app.services.gauge_history import GaugeHistory
from app.services.machine_memory import MachineMemory, machine_memory
from app.services.memory_split import planned_split, split_memory
from app.services.plan_result import PlanResult
from app.services.sights import CacheFill
from app.views.memory_picture import MemoryPicture
from app.views.tokens import UNIT
from engine.protocol import ModelInfo

_TICK_MS = 1000
_COPIED_MS = 2000


class MemoryPanel(QFrame):
    """The whole picture, with a button that copies it and one that closes it."""

    opened = Signal(bool)
    """It is there now, or has gone."""

    def __init__(
        self,
        history: GaugeHistory,
        read_machine: Callable[[], MachineMemory] = machine_memory,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("memoryPanel")
        self.setAccessibleName(self.tr("Memory and speed"))
        self._history = history
        self._read_machine = read_machine
        self._info: ModelInfo | None = None
        self._load_ms: float | None = None
        self._planned: PlanResult | None = None
        self.read_use: Callable[[], BandwidthUse | None] = lambda: None
        self.name_of: Callable[[str], str] = lambda _chat_id: ""
        self._fill: CacheFill | None = None
        self._focus_before: QWidget | None = None
        self._hint = QSize()
        self.picture = MemoryPicture()
        self.view = QScrollArea()
        self.copy_button = self._button(self.tr("Copy"), self._copy, self.tr("Copy all of it as text"))
        self.close_button = self._button(self.tr("Close"), self.close_panel, self.tr("Close (Esc)"))
        self._arrange()
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self.refresh)
        self.hide()

    def show_model(
        self, info: ModelInfo | None, load_ms: float | None = None, planned: PlanResult | None = None
    ) -> None:
        """The model that answers, how long it took to load, and what it was expected to take."""
        self._info, self._load_ms, self._planned = info, load_ms, planned

    def show_fill(self, fill: CacheFill | None) -> None:
        """What the cache holds of the open chat; None where that is not known."""
        self._fill = fill

    def toggle(self) -> None:
        """Open the panel, or close it."""
        if self.isHidden():
            self.open_panel()
        else:
            self.close_panel()

    def open_panel(self) -> None:
        """Show the panel and give it the focus, so that Esc closes it."""
        self._focus_before = QApplication.focusWidget()
        self.refresh()
        self.show()
        self.close_button.setFocus()
        self.opened.emit(True)

    def close_panel(self) -> None:
        """Hide the panel; the focus goes back to where it was."""
        before, self._focus_before = self._focus_before, None
        has_focus = self.isAncestorOf(QApplication.focusWidget() or self)
        self.hide()
        if has_focus and before:
            before.setFocus()
        self.opened.emit(False)

    def refresh(self) -> None:
        """Show what is known now."""
        newest, history = self._history.newest, self._history
        planned = planned_split(self._planned) if self._planned else ()
        self.picture.show_memory(split_memory(self._info, newest, self._read_machine()), newest, planned)
        self.picture.show_chat(self._fill, newest)
        self.picture.show_pool(newest, self.name_of)
        self.picture.show_speed(history, self._load_ms, self.read_use())
        if self.sizeHint() != self._hint:
            self._hint = self.sizeHint()
            self.updateGeometry()

    # --- the widget -------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        """As high as its contents; where there is less room, they are scrolled."""
        width = self.width() - UNIT * 3 - self.view.verticalScrollBar().sizeHint().width()
        around = self.close_button.sizeHint().height() + UNIT * 3
        return QSize(UNIT * 80, around + self.picture.height_at(width))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width is another height."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def showEvent(self, event: QShowEvent) -> None:
        """Figures are renewed while they are seen."""
        super().showEvent(event)
        self._tick.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody reads them."""
        super().hideEvent(event)
        self._tick.stop()

    def event(self, event: QEvent) -> bool:
        """Esc belongs to the panel while the focus is in it, not to the window's shortcut."""
        is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if is_escape and event.type() is QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc closes."""
        if event.key() == Qt.Key.Key_Escape:
            self.close_panel()
        else:
            super().keyPressEvent(event)

    def _button(self, text: str, act: Callable[[], None], hint: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setToolTip(hint)
        button.setAccessibleName(hint)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.clicked.connect(act)
        return button

    def _arrange(self) -> None:
        title = QLabel(self.tr("Where the memory is"))
        title.setProperty("strong", True)
        head = QHBoxLayout()
        head.setSpacing(UNIT // 2)
        head.addWidget(title)
        head.addStretch(1)
        head.addWidget(self.copy_button)
        head.addWidget(self.close_button)
        self.view.setAccessibleName(self.accessibleName())
        self.view.setWidget(self.picture)
        self.view.setWidgetResizable(True)
        self.view.setFrameShape(QFrame.Shape.NoFrame)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT * 2, UNIT, UNIT, UNIT)
        column.setSpacing(UNIT // 2)
        column.addLayout(head)
        column.addWidget(self.view, 1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setMinimumHeight(UNIT * 14)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.picture.plain_text())
        self.copy_button.setText(self.tr("Copied"))
        QTimer.singleShot(_COPIED_MS, self, lambda: self.copy_button.setText(self.tr("Copy")))
