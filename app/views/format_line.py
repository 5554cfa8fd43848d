"""The line that says which chat format stands in for the model's own, and lets the user choose another.

A `ModelInfo` goes in, the name of a format comes out. It knows nothing about templates.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from app.views.tokens import UNIT
from engine.protocol import ModelInfo

FORMATS = ("chatml", "llama3", "gemma", "mistral", "plain")
"""The named chat formats that the engine offers."""


class FormatLine(QFrame):
    """Hidden while the model's own chat format is in use."""

    format_chosen = Signal(object)
    """The name of a format; None is the file's own."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("formatLine")
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.button = QToolButton()
        self.button.setText(self.tr("Change"))
        self.button.setAccessibleName(self.tr("Change the chat format"))
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self.button)
        self.button.setMenu(self.menu)
        row = QHBoxLayout(self)
        row.setContentsMargins(UNIT * 3 // 2, UNIT // 2, UNIT // 2, UNIT // 2)
        row.addWidget(self.text, 1)
        row.addWidget(self.button)
        self.hide()

    def show_format(self, info: ModelInfo | None) -> None:
        """Say which format is used and why, if there is anything to say."""
        reason = info.chat_format_reason if info else None
        self.setVisible(reason is not None)
        if info is None or reason is None:
            return
        sentence = self.tr(
            "Chat format \N{LEFT DOUBLE QUOTATION MARK}{0}\N{RIGHT DOUBLE QUOTATION MARK}: {1}"
        )
        self.text.setText(sentence.format(info.chat_format, reason))
        self.menu.clear()
        self._offer(None, self.tr("The model's own"), info.chat_format == "template")
        for name in FORMATS:
            self._offer(name, name, info.chat_format == name)

    def _offer(self, name: str | None, label: str, chosen: bool) -> None:
        action = self.menu.addAction(label)
        action.setCheckable(True)
        action.setChecked(chosen)
        action.triggered.connect(lambda: self.format_chosen.emit(name))
