"""What went wrong, where it happened, with a button for the next sensible step.

Notices go in; the newest one that concerns the open chat is shown until it is dismissed or its
button is pressed. It knows nothing about who acts on the button.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from app.services.notice import Notice, NoticeAction
from app.views.theme import set_style
from app.views.tokens import UNIT


class NoticeBanner(QFrame):
    """Shows one notice at a time; hidden while there is none."""

    action_requested = Signal(object)
    """The `NoticeAction` of the button that was pressed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self._notices: list[Notice] = []
        self._chat_id: str | None = None
        self._labels = {
            NoticeAction.LOAD_AGAIN: self.tr("Load again"),
            NoticeAction.CHOOSE_MODEL: self.tr("Choose a model"),
            NoticeAction.GO_ON_ENDLESS: self.tr("Go on endlessly"),
            NoticeAction.UNDO: self.tr("Undo"),
            NoticeAction.RESTORE_CHAT: self.tr("Undo"),
            NoticeAction.LOAD_FOR_CHAT: self.tr("Load"),
            NoticeAction.STOP_BENCHMARK: self.tr("Stop it"),
            NoticeAction.SHOW_PLAN: self.tr("Look at the memory"),
        }
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.action = QPushButton()
        self.action.clicked.connect(self.act)
        self.dismiss = QPushButton(self.tr("Dismiss"))
        self.dismiss.setAccessibleName(self.tr("Dismiss this message"))
        self.dismiss.clicked.connect(self._dismiss)
        row = QHBoxLayout(self)
        row.setContentsMargins(UNIT * 3 // 2, UNIT, UNIT, UNIT)
        row.setSpacing(UNIT)
        row.addWidget(self.text, 1)
        row.addWidget(self.action)
        row.addWidget(self.dismiss)
        self.hide()

    def add(self, notice: Notice) -> None:
        """Show `notice`, now or when its chat is open."""
        self._notices = [old for old in self._notices if old.chat_id != notice.chat_id] + [notice]
        self._show()

    def set_chat(self, chat_id: str | None) -> None:
        """Another chat is open: show what concerns it."""
        self._chat_id = chat_id
        self._show()

    def clear(self) -> None:
        """Something new was begun in the open chat: what was told before is history."""
        self._notices = [notice for notice in self._notices if notice.chat_id not in (None, self._chat_id)]
        self._show()

    def clear_general(self) -> None:
        """What concerned all chats is over."""
        self._notices = [notice for notice in self._notices if notice.chat_id is not None]
        self._show()

    def withdraw(self, action: NoticeAction) -> None:
        """What offered this step is over."""
        self._notices = [notice for notice in self._notices if notice.action is not action]
        self._show()

    def shown(self) -> Notice | None:
        """The notice in sight."""
        concerned = [notice for notice in self._notices if notice.chat_id in (None, self._chat_id)]
        return concerned[-1] if concerned else None

    def _show(self) -> None:
        notice = self.shown()
        if notice:
            self.text.setText(notice.message)
            self.text.setToolTip(notice.detail)
            self.action.setText(self._labels[notice.action] if notice.action else "")
            self.action.setVisible(notice.action is not None)
            self._dress(notice.calm)
        self.setVisible(notice is not None)

    def _dress(self, calm: bool) -> None:
        if self.property("calm") != calm:
            for widget in (self, self.text, self.action, self.dismiss):
                set_style(widget, "calm", calm)

    def _dismiss(self) -> None:
        self._notices = [notice for notice in self._notices if notice is not self.shown()]
        self._show()

    def act(self) -> None:
        """Press the button of the notice in sight."""
        notice = self.shown()
        self._dismiss()
        if notice and notice.action:
            self.action_requested.emit(notice.action)
