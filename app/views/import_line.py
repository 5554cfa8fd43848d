"""How far a model is copied into Weir's folder, with a way to give it up.

A name and a fraction go in, the wish to cancel comes out. Knows nothing about copying.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QWidget

from app.views.eliding_label import ElidingLabel
from app.views.tokens import UNIT


class ImportLine(QFrame):
    """Hidden while nothing is copied."""

    cancel_requested = Signal()
    """Give it up."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("reloadLine")  # dressed like it
        self.text = ElidingLabel()
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setMinimumWidth(UNIT * 16)
        self.bar.setAccessibleName(self.tr("Copying the model"))
        self.cancel = QPushButton(self.tr("Cancel"))
        self.cancel.setObjectName("formButton")
        self.cancel.setAccessibleName(self.tr("Cancel copying the model"))
        self.cancel.clicked.connect(self.cancel_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(UNIT * 3 // 2, UNIT // 2, UNIT // 2, UNIT // 2)
        row.setSpacing(UNIT)
        row.addWidget(self.text, 1)
        row.addWidget(self.bar)
        row.addWidget(self.cancel)
        self.hide()

    def show_progress(self, name: str, fraction: float) -> None:
        """So much of `name` is copied, 0 to 1."""
        self.text.setText(self.tr("Copying {0}").format(name))
        self.bar.setValue(round(fraction * 1000))
        self.show()
