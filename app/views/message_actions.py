"""What can be done with one message, as a row of quiet buttons and as entries of a menu.

A `StoredMessage` goes in, wishes come out as signals. It knows nothing about how they are granted.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QWidget

from app.data.stored_message import MessageState, StoredMessage
from engine.protocol import Role


class MessageActions(QWidget):
    """Pin, edit, again, copy: those that make sense for the message."""

    copy_requested = Signal()
    edit_requested = Signal()
    again_requested = Signal()
    pin_requested = Signal(bool)
    """Whether the message shall be pinned."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pinned = False
        self.pin = self._button(lambda: self.pin_requested.emit(not self._pinned))
        self.edit = self._button(self.edit_requested.emit)
        self.again = self._button(self.again_requested.emit)
        self.copy = self._button(self.copy_requested.emit)
        self._name(self.edit, self.tr("Edit"), self.tr("Edit this message and have it answered anew"))
        self._name(self.again, self.tr("Again"), self.tr("Write this reply again"))
        self._name(self.copy, self.tr("Copy"), self.tr("Copy this message"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for button in self.buttons():
            row.addWidget(button)

    def show_message(self, message: StoredMessage, *, is_last: bool) -> None:
        """Offer what can be done with `message` now."""
        self._pinned = message.pinned
        if message.pinned:
            self._name(self.pin, self.tr("Unpin"), self.tr("Unpin this message: the model may lose it"))
        else:
            self._name(self.pin, self.tr("Pin"), self.tr("Pin this message: the model goes on seeing it"))
        is_reply = message.role is Role.ASSISTANT
        is_done = message.state is not MessageState.STREAMING
        self.pin.setVisible(bool(message.content) and is_done)
        self.edit.setVisible(not is_reply)
        self.again.setVisible(is_reply and is_done and is_last)
        self.copy.setVisible(bool(message.content))

    def buttons(self) -> list[QPushButton]:
        """All buttons in reading order, hidden ones too."""
        return [self.pin, self.edit, self.again, self.copy]

    def add_to(self, menu: QMenu) -> None:
        """Offer the same in `menu`."""
        for button in self.buttons():
            if not button.isHidden():
                menu.addAction(button.accessibleName(), button.click)

    def _button(self, act: Callable[[], None]) -> QPushButton:
        button = QPushButton(self)
        button.setObjectName("quiet")
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        button.clicked.connect(lambda _checked: act())
        return button

    def _name(self, button: QPushButton, text: str, name: str) -> None:
        if button.text() == text:
            return
        button.setText(text)
        button.setAccessibleName(name)
        button.setToolTip(name)
