"""How far something is that concerns a model's file, with a way to give it up.

A name and a fraction go in, the wish to cancel comes out. Knows nothing about what is done.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QWidget

from app.views.eliding_label import ElidingLabel
from app.views.tokens import UNIT


class ProgressLine(QFrame):
    """Hidden while nothing is done."""

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
        self.cancel = QPushButton(self.tr("Cancel"))
        self.cancel.setObjectName("formButton")
        self.cancel.clicked.connect(self.cancel_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(UNIT * 3 // 2, UNIT // 2, UNIT // 2, UNIT // 2)
        row.setSpacing(UNIT)
        row.addWidget(self.text, 1)
        row.addWidget(self.bar)
        row.addWidget(self.cancel)
        self.hide()

    def show_fraction(self, words: str, fraction: float) -> None:
        """So much of what `words` say is done, 0 to 1."""
        self.text.setText(words)
        self.bar.setValue(round(fraction * 1000))
        self.show()


class ImportLine(ProgressLine):
    """How far a model is copied into Weir's folder."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar.setAccessibleName(self.tr("Copying the model"))
        self.cancel.setAccessibleName(self.tr("Cancel copying the model"))

    def show_progress(self, name: str, fraction: float) -> None:
        """So much of `name` is copied, 0 to 1."""
        self.show_fraction(self.tr("Copying {0}").format(name), fraction)


class QuantizeLine(ProgressLine):
    """How far a model is quantized."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar.setAccessibleName(self.tr("Quantizing the model"))
        self.cancel.setAccessibleName(self.tr("Cancel quantizing the model"))

    def show_progress(self, name: str, kind: str, fraction: float, left: str) -> None:
        """So much of `name` is done, 0 to 1; `left` is a duration, or nothing."""
        words = self.tr("Quantizing {0} to {1}, {2} left") if left else self.tr("Quantizing {0} to {1}")
        self.show_fraction(words.format(name, kind, left), fraction)
