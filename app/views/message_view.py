"""One message as a widget: who speaks, with which numbers, what, and how it ended.

A `StoredMessage` goes in; `fit` gives the height for a width, and `height_changed` says when to ask
again. It knows nothing about the messages around it, scrolling or stores.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.data.chat_store import MessageState, StoredMessage, TurnNumbers
from app.views import number_format
from app.views.eliding_label import ElidingLabel
from app.views.message_body import MessageBody
from app.views.theme import UNIT
from engine.protocol import Role

PADDING = UNIT + UNIT // 2


class MessageView(QFrame):
    """Shows one message; the user's own stand on a tint."""

    height_changed = Signal()
    """The content needs another height now."""

    def __init__(self, message: StoredMessage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._own = message.role is not Role.ASSISTANT
        if self._own:
            self.setObjectName("ownMessage")
        self._author = ElidingLabel()
        self._author.setProperty("strong", True)
        self._numbers = ElidingLabel()
        self._numbers.setProperty("muted", True)
        self._copy = self._quiet_button(self.tr("Copy"), self.tr("Copy this message"))
        self._copy.clicked.connect(self._copy_text)
        self._whole = self._quiet_button("", self.tr("Show the whole message"))
        self._whole.clicked.connect(self._show_whole)
        self.body = MessageBody(self)
        self.body.rendered.connect(self.height_changed)
        self._footer = QLabel()
        self._footer.setProperty("muted", True)
        self._footer.setTextFormat(Qt.TextFormat.PlainText)
        self._arrange()
        self.message = message
        self.show_message(message)

    def show_message(self, message: StoredMessage) -> None:
        """Show the message's present text, state and numbers."""
        self.message = message
        streaming = message.state is MessageState.STREAMING
        author = self.tr("You") if self._own else message.model or self.tr("Reply")
        self._author.setText(author)
        self._numbers.setText("" if self._own else self._numbers_line(message.numbers))
        self._show_footer(message)
        self.body.setAccessibleName(self.tr("Message by {0}").format(author))
        self.body.show_text(message.content, markdown=not self._own, streaming=streaming)
        self.body.setVisible(bool(message.content))
        self._copy.setVisible(bool(message.content))
        hidden = self.body.hidden_characters()
        self._whole.setVisible(hidden > 0)
        self._whole.setText(self.tr("Show {0} more characters").format(f"{hidden:,}"))

    def fit(self, width: int) -> int:
        """Take `width` pixels and return the height in pixels that the message needs."""
        self.body.fit(width - 2 * PADDING)
        layout = self.layout()
        assert layout is not None  # made in `_arrange`
        layout.invalidate()
        return layout.sizeHint().height()

    def tab_stops(self) -> list[QWidget]:
        """What the keyboard can reach, in order."""
        return [self.body, self._copy, self._whole]

    def changeEvent(self, event: QEvent) -> None:
        """A new style may have another font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self.height_changed.emit()

    def _arrange(self) -> None:
        header = QHBoxLayout()
        header.setSpacing(UNIT)
        header.addWidget(self._author)
        header.addWidget(self._numbers)
        header.addStretch(1)
        header.addWidget(self._copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(PADDING, UNIT, PADDING, PADDING)
        column.setSpacing(UNIT // 2)
        column.addLayout(header)
        column.addWidget(self.body)
        column.addWidget(self._whole, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._footer)
        column.addStretch(1)

    def _quiet_button(self, text: str, name: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName("quiet")
        button.setAccessibleName(name)
        button.setToolTip(name)
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        return button

    def _numbers_line(self, numbers: TurnNumbers | None) -> str:
        if numbers is None:
            return ""
        rate = number_format.rate(numbers.decode_tps)
        parts = [
            rate if rate != number_format.NOT_AVAILABLE else "",
            self.tr("first {0}").format(number_format.seconds(numbers.ttft_ms)),
            self.tr("{0} tokens").format(f"{numbers.tokens_generated:,}"),
        ]
        return "  \N{MIDDLE DOT}  ".join(text for text in parts if text)

    def _show_footer(self, message: StoredMessage) -> None:
        text = ""
        if message.state is MessageState.INTERRUPTED:
            text = self.tr("Interrupted") if message.content else self.tr("Interrupted before the first word")
        elif message.state is MessageState.STREAMING and not message.content:
            text = self.tr("Waiting for the first word \N{HORIZONTAL ELLIPSIS}")
        self._footer.setText(text)
        self._footer.setVisible(bool(text))

    def _copy_text(self) -> None:
        QGuiApplication.clipboard().setText(self.message.content)

    def _show_whole(self) -> None:
        self.body.show_whole()
        self._whole.hide()
        self.height_changed.emit()
