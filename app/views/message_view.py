"""One message as a widget: who speaks, with which numbers, what, how it ended, what the model has of it.

A `StoredMessage` and its `Presence` go in, wishes come out; `fit` gives the height for a width, and
`height_changed` says when to ask again. It knows nothing about scrolling or stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QPushButton, QVBoxLayout, QWidget

from app.data.attachment_text import with_attachments
from app.data.stored_message import MessageState, StoredMessage
from app.item_models.sight import Presence
from app.views.eliding_label import ElidingLabel
from app.views.markdown_text import text_of_markdown
from app.views.message_actions import MessageActions
from app.views.message_body import MessageBody
from app.views.message_measure import PADDING
from app.views.reply_words import ending_in_words, numbers_in_words, reading_in_words
from app.views.sent_attachments import SentAttachments
from app.views.theme import set_style
from app.views.thinking_fold import ThinkingFold
from app.views.tokens import UNIT
from engine.protocol import Role
from engine.thinking import Thinking, split_thinking


class MessageView(QFrame):
    """Shows one message; the user's own stand on a tint."""

    height_changed = Signal()
    """The content needs another height now."""

    is_wide = False
    """Whether it takes more than a column of text, where there is room."""

    variant_ids: tuple[int, ...] = ()
    """The replies that it shows side by side."""

    def __init__(
        self,
        message: StoredMessage,
        parent: QWidget | None = None,
        *,
        actions: MessageActions | None = None,
    ) -> None:
        super().__init__(parent)
        self._presence = Presence.SEEN
        self._is_last = False
        self._refused = False
        self._own = message.role is not Role.ASSISTANT
        if self._own:
            self.setObjectName("ownMessage")
        self._author = ElidingLabel()
        self._author.setProperty("strong", True)
        self.mark = QLabel()
        self.mark.setObjectName("mark")
        self.mark.setTextFormat(Qt.TextFormat.PlainText)
        self.actions_row = actions or MessageActions()
        self.actions_row.copy_requested.connect(self._copy)
        self.actions_row.copy_text_requested.connect(self._copy_text)
        self._whole = QPushButton(self)
        self._whole.setObjectName("quiet")
        self._whole.clicked.connect(self._show_whole)
        self.thinking = ThinkingFold(self)
        self.thinking.height_changed.connect(self.height_changed)
        self.files = SentAttachments(self)
        self.body = MessageBody(self)
        self.body.rendered.connect(self.height_changed)
        self.body.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.body.customContextMenuRequested.connect(self._open_body_menu)
        self.footer = QLabel()
        self.footer.setProperty("muted", True)
        self.footer.setTextFormat(Qt.TextFormat.PlainText)
        self.footer.setWordWrap(True)
        self._arrange()
        self.message = message
        self.show_message(message)

    def show_message(self, message: StoredMessage) -> None:
        """Show the message's present text, state and numbers."""
        self.message = message
        streaming = message.state is MessageState.STREAMING
        author = self.author(message)
        self._author.setText(author)
        self._show_footer(message)
        self._show_mark()
        self.actions_row.show_message(message, is_last=self._is_last)
        self.body.setAccessibleName(self.tr("Message by {0}").format(author))
        thinking = Thinking(None, message.content) if self._own else split_thinking(message.content)
        thinking_ms = message.numbers.thinking_ms if message.numbers else None
        self.thinking.show_thought(thinking.thought, thinking.is_open and streaming, thinking_ms)
        self.files.show_attachments(message.attachments)
        self.body.show_text(thinking.answer, markdown=not self._own, streaming=streaming)
        self.body.setVisible(bool(thinking.answer))
        hidden = self.body.hidden_characters()
        self._whole.setVisible(hidden > 0)
        self._whole.setText(self.tr("Show {0} more characters").format(f"{hidden:,}"))

    def show_row(self, message: StoredMessage, _variants: Sequence[StoredMessage]) -> None:
        """Show what the message is now; see `show_message`."""
        self.show_message(message)

    def author(self, message: StoredMessage) -> str:
        """Who speaks."""
        return self.tr("You") if self._own else message.model or self.tr("Reply")

    def show_presence(self, presence: Presence, *, refused: bool = False) -> None:
        """Show what the model has of the message; `refused` is a pin that does not fit."""
        if (presence, refused) == (self._presence, self._refused):
            return
        was_dimmed = self._presence is Presence.UNSEEN
        self._presence, self._refused = presence, refused
        self._show_mark()
        if was_dimmed != (presence is Presence.UNSEEN):
            self._dim(not was_dimmed)

    def set_last(self, is_last: bool) -> None:
        """Whether this is the newest message."""
        if is_last != self._is_last:
            self._is_last = is_last
            self.actions_row.show_message(self.message, is_last=is_last)

    def fit(self, width: int) -> int:
        """Take `width` pixels and return the height in pixels that the message needs."""
        self.body.fit(width - 2 * PADDING)
        self.thinking.setFixedHeight(self.thinking.fit(width - 2 * PADDING))
        self.footer.setFixedHeight(max(0, self.footer.heightForWidth(width - 2 * PADDING)))
        layout = self.layout()
        assert layout is not None  # made in `_arrange`
        layout.invalidate()
        return layout.sizeHint().height()

    def tab_stops(self) -> list[QWidget]:
        """What the keyboard can reach, in order."""
        return [
            *(*self.files.buttons(), *self.thinking.tab_stops(), self.body, *self.body.code_buttons()),
            *(*self.actions_row.tab_stops(), self._whole),
        ]

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """What can be done with the message."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.actions_row.add_to(menu)
        menu.popup(event.globalPos())

    def changeEvent(self, event: QEvent) -> None:
        """A new style may have another font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self.height_changed.emit()

    def _arrange(self) -> None:
        header = QHBoxLayout()
        header.setSpacing(UNIT)
        header.addWidget(self._author)
        header.addStretch(1)
        header.addWidget(self.mark)
        header.addWidget(self.actions_row)
        column = QVBoxLayout(self)
        column.setContentsMargins(PADDING, UNIT, PADDING, PADDING)
        column.setSpacing(UNIT // 2)
        column.addLayout(header)
        column.addWidget(self.files)
        column.addWidget(self.thinking)
        column.addWidget(self.body)
        column.addWidget(self._whole, 0, Qt.AlignmentFlag.AlignLeading)
        column.addWidget(self.footer)
        column.addStretch(1)

    def body_menu(self, position: QPoint) -> QMenu:
        """What can be done with the text at `position` of the body, and with the message."""
        menu = self.body.createStandardContextMenu(position)
        menu.addSeparator()
        self.actions_row.add_to(menu)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def _open_body_menu(self, position: QPoint) -> None:
        self.body_menu(position).popup(self.body.viewport().mapToGlobal(position))

    def _show_mark(self) -> None:
        pinned = self.message.pinned
        marks = {
            Presence.SEEN: self.tr("pinned") if pinned else "",
            Presence.PARTLY_SEEN: self.tr("its beginning is no longer seen"),
            Presence.STILL_SEEN: self.tr("pinned, still seen") if pinned else self.tr("still seen"),
            Presence.UNSEEN: self.tr("pinned, does not fit") if pinned and self._refused else "",
        }
        self.mark.setText(marks[self._presence])
        self.mark.setVisible(bool(self.mark.text()))
        set_style(self.mark, "lost", self._presence in (Presence.PARTLY_SEEN, Presence.UNSEEN))
        unseen = self.tr("not seen by the model") if self._presence is Presence.UNSEEN else ""
        self.body.setAccessibleDescription(", ".join(filter(None, (unseen, self.mark.text()))))

    def _dim(self, dimmed: bool) -> None:
        # Colours only: the text is not laid out anew.
        for widget in (self._author, self.body, self):
            set_style(widget, "dimmed", dimmed)

    def _show_footer(self, message: StoredMessage) -> None:
        lines = (
            ending_in_words(message),
            reading_in_words(message.numbers),
            "" if self._own else numbers_in_words(message.numbers),
        )
        text = "\n".join(filter(None, lines))
        self.footer.setText(text)
        self.footer.setVisible(bool(text))

    def _copy(self) -> None:
        message = self.message
        text = message.content or with_attachments("", message.attachments).rstrip("\n")
        QGuiApplication.clipboard().setText(text)

    def _copy_text(self) -> None:
        answer = split_thinking(self.message.content).answer
        QGuiApplication.clipboard().setText(text_of_markdown(answer))

    def _show_whole(self) -> None:
        self.body.show_whole()
        self._whole.hide()
        self.height_changed.emit()
