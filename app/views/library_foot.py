"""What can be done with the marked model, as buttons below the list.

The model goes in, wishes come out. Knows nothing about the list.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.data.installed_model import InstalledModel
from app.views.chat_list_delegate import in_own_direction
from app.views.eliding_label import ElidingLabel
from app.views.library_words import second_line
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
        buttons = QHBoxLayout()
        buttons.setSpacing(UNIT)
        for button in (self.rename, self.reveal, self.copy, self.delete):
            button.setObjectName("formButton")
            buttons.addWidget(button)
        buttons.addStretch(1)
        buttons.addWidget(self.load)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.reason)
        column.addWidget(self.path)
        column.addLayout(buttons)
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
        self.delete.setToolTip(why_not_deleted)

    def _connect(self) -> None:
        self.load.clicked.connect(self.load_requested)
        self.rename.clicked.connect(self.rename_requested)
        self.reveal.clicked.connect(self.reveal_requested)
        self.copy.clicked.connect(self.copy_requested)
        self.delete.clicked.connect(self.delete_requested)
