"""What can be done with one message, as a row of quiet buttons and as entries of a menu.

A `StoredMessage` goes in, wishes come out as signals. It knows nothing about how they are granted.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QWidget

from app.data.stored_message import MessageState, StoredMessage
from app.views.variants_menu import VariantsMenu
from app.views.version_switch import VersionSwitch
from engine.protocol import Role


class MessageActions(QWidget):
    """Versions, pin, edit, go on, again, copy, more: those that make sense for the message."""

    copy_requested = Signal()
    """As it was written: a reply as Markdown."""

    copy_text_requested = Signal()
    """As plain text."""

    edit_requested = Signal()
    again_requested = Signal(int)
    """How many further versions shall be written."""

    go_on_requested = Signal()
    delete_requested = Signal()
    pin_requested = Signal(bool)
    """Whether the message shall be pinned."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pinned = False
        self._is_reply = False
        self.versions = VersionSwitch()
        self.pin = self._button(lambda: self.pin_requested.emit(not self._pinned))
        self.edit = self._button(self.edit_requested.emit)
        self.go_on = self._button(self.go_on_requested.emit)
        self.again = self._button(lambda: self.again_requested.emit(1))
        self.copy = self._button(self.copy_requested.emit)
        self.more = self._button(self._open_more)
        self._name(self.edit, self.tr("Edit"), self.tr("Edit this message and have it answered anew"))
        self._name(self.go_on, self.tr("Continue"), self.tr("Let this reply go on where it ended"))
        self._name(self.again, self.tr("Again"), self.tr("Write this reply again, as another version"))
        self._name(self.copy, self.tr("Copy"), self.tr("Copy this message as it was written"))
        self._name(self.more, "\N{MIDLINE HORIZONTAL ELLIPSIS}", self.tr("More for this message"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.versions)
        for button in self._buttons():
            row.addWidget(button)

    def show_message(self, message: StoredMessage, *, is_last: bool) -> None:
        """Offer what can be done with `message` now."""
        self._pinned, self._is_reply = message.pinned, message.role is Role.ASSISTANT
        if message.pinned:
            self._name(self.pin, self.tr("Unpin"), self.tr("Unpin this message: the model may lose it"))
        else:
            self._name(self.pin, self.tr("Pin"), self.tr("Pin this message: the model goes on seeing it"))
        is_done = message.state is not MessageState.STREAMING
        says_something = bool(message.content or message.attachments)
        is_short = message.state is MessageState.INTERRUPTED
        self.versions.show_version(message.version, message.n_versions)
        self.versions.setEnabled(is_done)
        self.pin.setVisible(says_something and is_done)
        self.edit.setVisible(not self._is_reply)
        self.go_on.setVisible(self._is_reply and is_last and is_short and bool(message.content))
        self.again.setVisible(self._is_reply and is_done)
        self.copy.setVisible(says_something)
        self.more.setVisible(is_done)

    def tab_stops(self) -> list[QWidget]:
        """What the keyboard can reach in reading order, hidden ones too."""
        return [*self.versions.buttons(), *self._buttons()]

    def add_to(self, menu: QMenu) -> None:
        """Offer the same in `menu`."""
        for button in self._buttons()[:-1]:
            if not button.isHidden():
                menu.addAction(button.accessibleName(), button.click)
        self._add_more(menu)

    def _add_more(self, menu: QMenu) -> None:
        if self._is_reply and not self.copy.isHidden():
            menu.addAction(self.tr("Copy as plain text"), self.copy_text_requested.emit)
        if self._is_reply and not self.again.isHidden():
            several = VariantsMenu(self.tr("Write several at once"), menu)
            several.chosen.connect(self.again_requested)
            menu.addMenu(several)
        if not self.more.isHidden():
            menu.addAction(self.tr("Delete this message"), self.delete_requested.emit)

    def more_menu(self) -> QMenu:
        """What has no button; it deletes itself when it closes."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._add_more(menu)
        return menu

    def _open_more(self) -> None:
        self.more_menu().popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def _buttons(self) -> list[QPushButton]:
        return [self.pin, self.edit, self.go_on, self.again, self.copy, self.more]

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
