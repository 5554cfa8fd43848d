"""What can be done with the marked model, as buttons below the list.

The model goes in, wishes come out. Knows nothing about the list.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.data.installed_model import InstalledModel
from app.views.chat_list_delegate import in_own_direction
from app.views.eliding_label import ElidingLabel
from app.views.library_words import plain_tool_tip, second_line
from app.views.settings_row import muted_label
from app.views.tokens import UNIT


class LibraryFoot(QWidget):
    """The path of the marked model, why it cannot be loaded, and five buttons."""

    load_requested = Signal()
    """All signals concern the marked model."""

    rename_requested = Signal()
    reveal_requested = Signal()
    copy_requested = Signal()
    delete_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.path = ElidingLabel()
        self.path.setProperty("muted", True)
        self.reason = muted_label()
        self.reason.setProperty("warns", True)
        self.load = QPushButton(self.tr("Load"))
        self.load.setObjectName("send")  # dressed like it
        self.rename, self.reveal = QPushButton(self.tr("Rename")), QPushButton(self.tr("Show in its folder"))
        self.copy, self.delete = QPushButton(self.tr("Copy the path")), QPushButton(self.tr("Delete"))
        self._connect()
        self._groups = (self._row(self.rename, self.reveal, self.copy), self._row(self.delete))
        self._buttons = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._buttons.setSpacing(UNIT)
        self._buttons.addLayout(self._groups[0])
        self._groups[1].addWidget(self.load)
        self._buttons.addLayout(self._groups[1], 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.reason)
        column.addWidget(self.path)
        column.addLayout(self._buttons)
        self.show_model(None)

    def show_model(self, model: InstalledModel | None, why_not_deleted: str = "") -> None:
        """The model that is marked; `why_not_deleted` is a sentence, empty if it can be deleted."""
        self.path.setText(in_own_direction(str(model.path)) if model else "")
        reason = second_line(model) if model and not model.can_be_chosen else ""
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))
        for button in (self.rename, self.reveal, self.copy):
            button.setEnabled(model is not None)
        self.load.setEnabled(model is not None and model.can_be_chosen)
        self.delete.setEnabled(model is not None and not why_not_deleted)
        self.delete.setToolTip(plain_tool_tip(why_not_deleted))
        self.delete.setAccessibleDescription(why_not_deleted)

    def minimumSizeHint(self) -> QSize:
        """Narrow enough for the buttons in two lines."""
        return QSize(max(self._widths()), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The buttons stand in two lines where one is too short for them."""
        fits = sum(self._widths()) + UNIT <= self.width()
        direction = QBoxLayout.Direction
        self._buttons.setDirection(direction.LeftToRight if fits else direction.TopToBottom)
        super().resizeEvent(event)

    def _widths(self) -> list[int]:
        """Of the groups of buttons, as narrow as they can be."""
        return [group.minimumSize().width() for group in self._groups]

    def _row(self, *buttons: QPushButton) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(UNIT)
        for button in buttons:
            button.setObjectName("formButton")
            row.addWidget(button)
        row.addStretch(1)
        return row

    def _connect(self) -> None:
        self.load.clicked.connect(self.load_requested)
        self.rename.clicked.connect(self.rename_requested)
        self.reveal.clicked.connect(self.reveal_requested)
        self.copy.clicked.connect(self.copy_requested)
        self.delete.clicked.connect(self.delete_requested)
