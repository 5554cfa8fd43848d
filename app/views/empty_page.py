"""What stands in place of the messages while there are none: what to do first.

Whether a model answers or is being loaded goes in, the wish to choose one comes out.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.views.tokens import UNIT


class EmptyPage(QWidget):
    """The page of a new chat."""

    choose_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = QLabel()
        self.title.setObjectName("emptyTitle")
        self.text = QLabel()
        self.text.setProperty("muted", True)
        self.choose = QPushButton(self.tr("Choose a model"))
        self.choose.setObjectName("newChat")
        self.choose.clicked.connect(self.choose_requested)
        column = QVBoxLayout(self)
        column.setSpacing(UNIT)
        column.addStretch(2)
        for label in (self.title, self.text):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            column.addWidget(label)
        column.addSpacing(UNIT)
        column.addWidget(self.choose, 0, Qt.AlignmentFlag.AlignCenter)
        column.addStretch(3)
        self.show_state(model=None, loading=True)

    def show_state(self, *, model: str | None, loading: bool) -> None:
        """`model` is the name of the one that answers."""
        if model or loading:
            self.title.setText(self.tr("What is on your mind?"))
            text = self.tr(
                "Write a message below and press Enter. Everything stays on this computer, "
                "and a chat may go on for as long as you like."
            )
        else:
            self.title.setText(self.tr("Choose a model first"))
            text = self.tr(
                "A model is a file that ends in .gguf. Weir runs it on this computer; nothing is sent away."
            )
        self.text.setText(text)
        self.choose.setVisible(not model and not loading)
