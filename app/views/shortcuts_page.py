"""The page that lists all shortcuts, section by section.

The table of `shortcuts` goes in, the wish to leave comes out. Knows nothing about what shortcuts do.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.views.shortcuts import Section, Shortcut, isolated, section_words, shortcuts
from app.views.tokens import UNIT

_TWO_COLUMNS_FROM = UNIT * 92


class ShortcutsPage(QScrollArea):
    """All keys at a glance, in one or two columns."""

    closed = Signal()
    """Back to the chat."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAccessibleName(self.tr("Shortcuts"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.close_button = QPushButton(self.tr("Close"))
        self.close_button.setObjectName("pageButton")
        self.close_button.setAccessibleName(self.tr("Close the shortcuts"))
        self.close_button.clicked.connect(self.closed)
        self._n_columns = 0
        rows = shortcuts()
        self._sections = [
            _section(section, [row for row in rows if row.section is section]) for section in Section
        ]
        self._grid = QGridLayout()
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Two columns where there is room."""
        super().resizeEvent(event)
        self._fill(2 if self.viewport().width() >= _TWO_COLUMNS_FROM else 1)

    def event(self, event: QEvent) -> bool:
        """Esc leaves the page instead of what it does in a chat."""
        if (
            event.type() is QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc leaves, all else scrolls."""
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    def _arrange(self) -> None:
        title = QLabel(self.tr("Shortcuts"))
        title.setObjectName("pageTitle")
        head = QHBoxLayout()
        head.addWidget(title, 1)
        head.addWidget(self.close_button)
        self._grid.setHorizontalSpacing(UNIT * 4)
        self._grid.setVerticalSpacing(UNIT * 3)
        content = QWidget()
        content.setObjectName("pageContent")
        column = QVBoxLayout(content)
        column.setContentsMargins(UNIT * 3, UNIT * 2, UNIT * 3, UNIT * 3)
        column.setSpacing(UNIT * 2)
        column.addLayout(head)
        column.addLayout(self._grid)
        column.addStretch(1)
        self.setWidget(content)
        self._fill(1)

    def _fill(self, n_columns: int) -> None:
        if n_columns == self._n_columns:
            return
        self._n_columns = n_columns
        for number, section in enumerate(self._sections):
            self._grid.addWidget(section, number // n_columns, number % n_columns, Qt.AlignmentFlag.AlignTop)
        for column in range(2):
            self._grid.setColumnStretch(column, 1 if column < n_columns else 0)


def _section(section: Section, rows: list[Shortcut]) -> QWidget:
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(UNIT // 2)
    heading = QLabel(section_words(section))
    heading.setObjectName("groupTitle")
    column.addWidget(heading)
    for row in rows:
        column.addWidget(_row(row))
    return box


def _row(shortcut: Shortcut) -> QWidget:
    line = QWidget()
    line.setAccessibleName(f"{shortcut.words}: {', '.join(shortcut.key_texts())}")
    words = QLabel(shortcut.words)
    words.setWordWrap(True)
    row = QHBoxLayout(line)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(UNIT)
    row.addWidget(words, 1)
    for keys in shortcut.key_texts():
        cap = QLabel(isolated(keys))
        cap.setObjectName("keys")
        row.addWidget(cap)
    return line
