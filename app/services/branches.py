"""A chat as a tree: edits, replies made again, other versions, and messages that are taken out.

Wishes about messages of the open chat come in; the store and the transcript are brought up to date.
Promises: nothing that was said is lost, it stands in another branch; a message that was taken out
comes back with `undo`; while a reply is being written its chat stays as it is, but that one of several
may be chosen. It knows nothing about
drafts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.data.chat_store import ChatStore
from app.data.stored_message import Attachment, MessageState, StoredMessage
from app.item_models.transcript_item_model import TranscriptItemModel
from app.services.answering import Answering
from app.services.drafts import Edit
from app.services.notice import Notice, NoticeAction
from app.services.variants import ShownChat, Variants
from engine.errors import KnownError
from engine.protocol import Role


@dataclass(frozen=True, slots=True)
class _TakenOut:
    """A message that was taken out of its chat, and the chat's last message before."""

    message_id: int
    former_head: int | None


class Branches(QObject):
    """Owns, for each chat, which messages were taken out, the last one last."""

    shown = Signal(str)
    """The id of a chat whose messages are others now."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(
        self,
        store: ChatStore,
        answering: Answering,
        transcript: TranscriptItemModel,
        variants: Variants,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._answering = answering
        self._transcript = transcript
        self._variants = variants
        answering.dropped.connect(self._on_dropped)
        self._taken_out: dict[str, list[_TakenOut]] = {}

    def read(self, chat_id: str | None) -> ShownChat:
        """What a chat shows, with what is being written in it; raises KnownError."""
        return self._variants.read(chat_id) if chat_id else ShownChat(())

    def show(self, chat_id: str) -> None:
        """Show the messages of a chat as they are in the store now; raises KnownError."""
        chat = self._variants.read(chat_id)
        self._transcript.show_branch(chat.messages, chat.variants)
        self.shown.emit(chat_id)

    def edit(self, edit: Edit, text: str, attachments: tuple[Attachment, ...], n_replies: int = 1) -> None:
        """Store `text` as another version of a user message, and have it answered; raises KnownError."""
        former_head = self._store.head(edit.message.chat_id)
        question = self._store.add_version(edit.message, text, attachments)
        self._answer(question, former_head, is_again=False, n_replies=n_replies)

    def again(self, message_id: int, n_replies: int = 1) -> None:
        """Have more versions of a reply of the open chat written; of several, one can be chosen."""
        reply = self._transcript.message(message_id)
        question = self._question_of(reply)
        if reply is None or question is None or reply.state is MessageState.STREAMING:
            return
        with self._told(question.chat_id):
            head = self._store.head(question.chat_id)
            self._answer(question, head, is_again=True, n_replies=n_replies)

    def choose(self, message_id: int) -> None:
        """Go on with one of the replies that stand side by side; those still being written end here."""
        message = self._transcript.message(message_id)
        if message is None or not self._variants.is_undecided(message_id, message.chat_id):
            return
        with self._told(message.chat_id):
            self._store.show_branch(message.chat_id, message_id)
            self._variants.settle(message.chat_id)
            self._answering.stop_others(message_id)
            self.show(message.chat_id)

    def go_with_shown(self, chat_id: str) -> None:
        """Who writes on without choosing has chosen the reply that the chat ends with; raises KnownError."""
        if self._transcript.has_variants():
            self._variants.settle(chat_id)
            self.show(chat_id)

    def go_on(self, message_id: int) -> None:
        """Have the last reply of the open chat go on where it ended."""
        reply = self._transcript.message(message_id)
        question = self._question_of(reply)
        if reply is None or question is None or reply is not self._transcript.last():
            return
        with self._told(reply.chat_id):
            self._answering.go_on(question, reply)
            self.show(reply.chat_id)

    def show_version(self, message_id: int, version: int) -> None:
        """Show another version of a message of the open chat, with what came after it."""
        message = self._changeable(message_id)
        if message is None or not 1 <= version <= message.n_versions:
            return
        with self._told(message.chat_id):
            self._store.show_version(message, version)
            self.show(message.chat_id)

    def take_out(self, message_id: int) -> None:
        """Take a message out of the open chat; `undo` brings it back."""
        message = self._changeable(message_id)
        if message is None:
            return
        with self._told(message.chat_id):
            taken = _TakenOut(message.id, self._store.head(message.chat_id))
            self._store.remove_message(message.id)
            self._taken_out.setdefault(message.chat_id, []).append(taken)
            self.show(message.chat_id)
            self._tell_taken_out(message.chat_id)

    def undo(self, chat_id: str) -> None:
        """Bring back the message that was taken out last; the one before it can be brought back next."""
        if not self._taken_out.get(chat_id) or self._answering.is_answering(chat_id):
            return
        taken = self._taken_out[chat_id].pop()
        with self._told(chat_id):
            self._store.restore_message(taken.message_id, taken.former_head)
            self.show(chat_id)
            self._tell_taken_out(chat_id)

    def _tell_taken_out(self, chat_id: str) -> None:
        if self._taken_out.get(chat_id):
            sentence = self.tr("The message was deleted.")
            self.notice.emit(Notice(sentence, action=NoticeAction.UNDO, chat_id=chat_id, calm=True))

    def begin(
        self, question: StoredMessage, former_head: int | None, *, is_again: bool = False, n_replies: int = 1
    ) -> list[StoredMessage]:
        """Have a question answered by so many replies, to stand side by side; see `Answering.begin`."""
        replies = self._answering.begin(question, former_head, is_again=is_again, n_replies=n_replies)
        self._variants.put(replies)
        return replies

    def _answer(
        self, question: StoredMessage, former_head: int | None, *, is_again: bool, n_replies: int
    ) -> None:
        try:
            self.begin(question, former_head, is_again=is_again, n_replies=n_replies)
        finally:
            self.show(question.chat_id)

    def _on_dropped(self, reply: StoredMessage) -> None:
        if self._transcript.message(reply.id):
            with self._told(reply.chat_id):
                self.show(reply.chat_id)

    def _changeable(self, message_id: int) -> StoredMessage | None:
        """A message of the open chat, while no reply is being written there."""
        message = self._transcript.message(message_id)
        return None if message is None or self._answering.is_answering(message.chat_id) else message

    def _question_of(self, reply: StoredMessage | None) -> StoredMessage | None:
        if reply is None or reply.role is not Role.ASSISTANT or self._answering.is_answering(reply.chat_id):
            return None
        return self._transcript.message(reply.parent_id) if reply.parent_id is not None else None

    @contextlib.contextmanager
    def _told(self, chat_id: str) -> Iterator[None]:
        """What goes wrong inside is told to the user."""
        try:
            yield
        except KnownError as error:
            self.notice.emit(Notice(str(error), chat_id=chat_id))
