"""The page of models: what is installed, what could be, and what is on its way, one part at a time.

Three widgets go in; the wish to be done comes out. Promises: Ctrl+Page keys go round the parts, arrows
move along their names, and each part keeps what was done in it. Knows nothing about what the parts show.
"""

from __future__ import annotations

import enum

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from app.views.leading_label import LeadingLabel
from app.views.page_column import page_column
from app.views.tokens import UNIT

_WIDEST = UNIT * 120


class ModelsPart(enum.IntEnum):
    """The parts, in the order of their tabs."""

    INSTALLED = 0
    DISCOVER = 1
    DOWNLOADS = 2


class ModelsPage(QWidget):
    """One page of the window; Escape leaves it."""

    closed = Signal()
    """The user is done here."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAccessibleName(self.tr("Models"))
        self.title = LeadingLabel(self.tr("Models"))
        self.title.setObjectName("emptyTitle")
        self.tabs = QTabBar()
        self.tabs.setObjectName("modelTabs")
        self.tabs.setAccessibleName(self.tr("Parts of the page of models"))
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for name in (self.tr("Installed"), self.tr("Discover"), self.tr("Downloads")):
            self.tabs.addTab(name)
        self.close_button = QPushButton(self.tr("Close"))
        self.close_button.setObjectName("formButton")
        self.close_button.setAccessibleName(self.tr("Go back to the chat"))
        self.close_button.setToolTip(self.tr("Go back to the chat (Esc)"))
        self._stack = QStackedWidget()
        self._arrange()
        self.tabs.currentChanged.connect(self._stack.setCurrentIndex)
        self.close_button.clicked.connect(self.closed)
        self._add_keys()

    def set_parts(self, installed: QWidget, discover: QWidget, downloads: QWidget) -> None:
        """The three parts; once."""
        for part in (installed, discover, downloads):
            self._stack.addWidget(part)
        self._stack.setCurrentIndex(self.tabs.currentIndex())

    def show_part(self, part: ModelsPart) -> None:
        """Show another part, and put the focus into it."""
        self.tabs.setCurrentIndex(part)
        self.focus_part()

    @property
    def part(self) -> ModelsPart:
        """The part in sight."""
        return ModelsPart(self.tabs.currentIndex())

    def set_count(self, n_downloads: int) -> None:
        """How many downloads are not done yet, told on their tab."""
        words = self.tr("Downloads ({0})").format(n_downloads) if n_downloads else self.tr("Downloads")
        self.tabs.setTabText(ModelsPart.DOWNLOADS, words)

    def focus_part(self) -> None:
        """Put the focus where the part in sight wants it."""
        widget = self._stack.currentWidget()
        (widget or self.tabs).setFocus()

    def event(self, event: QEvent) -> bool:
        """Escape is for this page while the focus is in it, before it is for the window."""
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            if event.type() is QEvent.Type.KeyPress:
                self.closed.emit()
            event.accept()
            return True
        if event.type() is QEvent.Type.FocusIn:
            self.focus_part()
        return super().event(event)

    def _turn(self, step: int) -> None:
        self.show_part(ModelsPart((self.tabs.currentIndex() + step) % self.tabs.count()))

    def _add_keys(self) -> None:
        for keys, step in (("Ctrl+PgDown", 1), ("Ctrl+PgUp", -1)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(lambda step=step: self._turn(step))

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(UNIT * 2)
        head.addWidget(self.title)
        head.addWidget(self.tabs)
        head.addStretch(1)
        head.addWidget(self.close_button)
        column = QVBoxLayout()
        column.setContentsMargins(UNIT * 3, UNIT * 2, UNIT * 3, UNIT * 2)
        column.setSpacing(UNIT * 3 // 2)
        column.addLayout(head)
        column.addWidget(self._stack, 1)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.addWidget(page_column(column, _WIDEST))
