"""A page of settings: a title, a line that offers to load the model again, and what scrolls below it.

Whether the model has to be loaded again goes in; that wish and the wish to leave come out. It knows nothing
about what it holds.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.views.leading_label import LeadingLabel
from app.views.page_column import page_column
from app.views.settings_row import muted_label
from app.views.tokens import UNIT

_WIDEST = UNIT * 96


class SettingsSheet(QWidget):
    """One page of the window; Escape leaves it."""

    closed = Signal()
    """The user is done here."""

    reload_requested = Signal()
    """Load the model again with what was chosen."""

    def __init__(self, title: str, sentence: str, reload_text: str, parent: QWidget | None = None) -> None:
        """`reload_text` says why the model is to be loaded again."""
        super().__init__(parent)
        self.setAccessibleName(title)
        self.title = LeadingLabel(title)
        self.title.setObjectName("emptyTitle")
        self.sentence = muted_label(sentence)
        self.close_button = QPushButton(self.tr("Close"))
        self.close_button.setObjectName("formButton")
        self.close_button.setAccessibleName(self.tr("Go back to the chat"))
        self.close_button.setToolTip(self.tr("Go back to the chat (Esc)"))
        self.close_button.clicked.connect(self.closed)
        self.reload_line = QFrame()
        self.reload_line.setObjectName("reloadLine")
        self.reload_button = QPushButton(self.tr("Load the model again now"))
        self.reload_button.setObjectName("formButton")
        self.reload_button.clicked.connect(self.reload_requested)
        row = QHBoxLayout(self.reload_line)
        row.setContentsMargins(UNIT * 3 // 2, UNIT // 2, UNIT // 2, UNIT // 2)
        row.addWidget(muted_label(reload_text), 1)
        row.addWidget(self.reload_button)
        self.reload_line.hide()
        self.content = QVBoxLayout()
        self._arrange()

    def show_reload(self, needed: bool) -> None:
        """Whether the model was loaded with something else than what is chosen."""
        if not needed and self.reload_button.hasFocus():
            self.close_button.setFocus()  # the button goes; the focus shall stay on this page
        self.reload_line.setVisible(needed)

    def event(self, event: QEvent) -> bool:
        """Escape is for this page while the focus is in it, before it is for the window."""
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            if event.type() is QEvent.Type.KeyPress:
                self.closed.emit()
            event.accept()
            return True
        return super().event(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The head stands in line with what scrolls, also where that leaves room for a scroll bar."""
        if event.type() is QEvent.Type.Resize and watched is self._area.viewport():
            bar = self._area.width() - self._area.viewport().width()
            at_left = self.isRightToLeft()
            self._head.setContentsMargins(bar if at_left else 0, 0, 0 if at_left else bar, 0)
        return super().eventFilter(watched, event)

    def _arrange(self) -> None:
        texts = QVBoxLayout()
        texts.setSpacing(UNIT // 2)
        texts.addWidget(self.title)
        texts.addWidget(self.sentence)
        head = QHBoxLayout()
        head.addLayout(texts, 1)
        head.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        top = QVBoxLayout()
        top.setContentsMargins(UNIT * 3, UNIT * 2, UNIT * 3, UNIT)
        top.setSpacing(UNIT)
        top.addLayout(head)
        top.addWidget(self.reload_line)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(0)
        self._head = page_column(top, _WIDEST)
        self._area = self._scrolling()
        self._area.viewport().installEventFilter(self)
        page.addWidget(self._head)
        page.addWidget(self._area, 1)

    def _scrolling(self) -> QScrollArea:
        self.content.setContentsMargins(UNIT * 3, UNIT, UNIT * 3, UNIT * 3)
        self.content.setSpacing(UNIT)
        inner = page_column(self.content, _WIDEST)
        area = QScrollArea()
        area.setWidget(inner)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its fields scroll it, by having the focus
        area.viewport().setAutoFillBackground(False)
        inner.setAutoFillBackground(False)
        return area
