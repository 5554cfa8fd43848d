"""A line that asks for the name of a preset. The names that are taken go in, a free one comes out."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.views.leading_label import LeadingLabel
from app.views.tokens import UNIT

_LONGEST_NAME = 60  # characters


class PresetNameRow(QWidget):
    """Hidden until it asks. Enter answers, Escape gives up; both need the field to have the focus."""

    named = Signal(str, str)
    """A name, and the former one of the preset that is to be renamed; "" for a new preset."""

    done = Signal()
    """It has been answered, or given up."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._taken: list[str] = []
        self._former = ""
        self.label = LeadingLabel(self.tr("Name of the preset"))
        self.edit = QLineEdit()
        self.edit.setMaxLength(_LONGEST_NAME)
        self.edit.setAccessibleName(self.tr("Name of the preset"))
        self.edit.textChanged.connect(self._check)
        self.edit.returnPressed.connect(self._accept)
        self.label.setBuddy(self.edit)
        self.keep = QPushButton(self.tr("Keep"))
        self.keep.clicked.connect(self._accept)
        self.cancel = QPushButton(self.tr("Cancel"))
        self.cancel.clicked.connect(self._close)
        self.fault = LeadingLabel(self.tr("There is a preset of this name: take another one."))
        self.fault.setProperty("warns", True)
        self.fault.setWordWrap(True)
        self._arrange()
        self.hide()

    def ask_new(self, taken: Sequence[str]) -> None:
        """Ask for a name that is not in `taken`."""
        self._ask(taken, "")

    def ask_rename(self, taken: Sequence[str], former: str) -> None:
        """Ask how the preset `former` shall be called."""
        self._ask([name for name in taken if name != former], former)

    def event(self, event: QEvent) -> bool:
        """Escape is for this line while it is open, before it is for the page around it."""
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            if event.type() is QEvent.Type.KeyPress:
                self._close()
            event.accept()
            return True
        return super().event(event)

    def _ask(self, taken: Sequence[str], former: str) -> None:
        self._taken, self._former = list(taken), former
        self.edit.setText(former)
        self.edit.selectAll()
        self._check()
        self.show()
        self.edit.setFocus()

    def _check(self) -> None:
        name = self.edit.text().strip()
        self.fault.setVisible(name in self._taken)
        self.keep.setEnabled(bool(name) and name not in self._taken)

    def _accept(self) -> None:
        if self.keep.isEnabled():
            self._close()
            self.named.emit(self.edit.text().strip(), self._former)

    def _close(self) -> None:
        self.done.emit()  # while the focus is here still, so that it is moved and not lost
        self.hide()

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.addWidget(self.edit, 1)
        for button in (self.keep, self.cancel):
            button.setObjectName("formButton")
            row.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT // 2)
        column.addWidget(self.label)
        column.addLayout(row)
        column.addWidget(self.fault)
