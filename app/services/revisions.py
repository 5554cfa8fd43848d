"""Messages that take the place of others: edits, replies made again, and undoing both.

Stored messages come in; the store and the open chat's transcript are brought up to date. Promises:
what is replaced leaves the view and the model's prompt, is only hidden in the store, and comes back
with `undo`, or by itself when the new message cannot be answered. It knows nothing about drafts.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.data.chat_store import ChatStore
from app.data.stored_message import MessageState, Removal, StoredMessage
from app.item_models.transcript_item_model import TranscriptItemModel
from app.services.answering import Answering
from app.services.drafts import Edit
from app.services.notice import Notice, NoticeAction
from app.services.replies import Reply
from engine.errors import KnownError
from engine.protocol import Role


class Revisions(QObject):
    """Owns what can be undone: in each chat, the last replacement."""

    undone = Signal(str)
    """The id of a chat whose former messages are back."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(
        self,
        store: ChatStore,
        answering: Answering,
        transcript: TranscriptItemModel,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._answering = answering
        self._transcript = transcript
        self._removals: dict[str, Removal] = {}
        self._undo_at_end: set[str] = set()
        answering.ended.connect(self._on_ended)

    def replace(self, edit: Edit, text: str) -> StoredMessage:
        """Store `text` in place of the edited message and of what came after; raises KnownError."""
        question, removal = self._store.replace_from(edit.message, text)
        self._removals[removal.chat_id] = removal
        self._transcript.remove_from(edit.message.id)
        after = removal.n_removed - 1
        sentences = (
            self.tr("Message {0} was replaced."),
            self.tr("Message {0} was replaced, and the message after it was put aside."),
            self.tr("Message {0} was replaced, and the {1} messages after it were put aside."),
        )
        self._tell(removal.chat_id, sentences[min(after, 2)].format(edit.number, f"{after:,}"))
        return question

    def again(self) -> None:
        """Have the open chat's last message, if it is a reply that has ended, written again."""
        last = self._transcript.last()
        question = self._transcript.last(Role.USER)
        if last is None or question is None or last.role is not Role.ASSISTANT:
            return
        if last.state is MessageState.STREAMING:
            return
        try:
            reply = self._answering.begin(question, is_again=True)
            removal = self._store.hide_before(last, reply)
        except KnownError as error:
            self.notice.emit(Notice(str(error), chat_id=question.chat_id))
            return
        self._removals[removal.chat_id] = removal
        self._transcript.remove(last.id)
        self._transcript.append(reply)
        self._tell(removal.chat_id, self.tr("The former reply was put aside."))

    def keep(self, chat_id: str) -> None:
        """The chat went on: what was replaced stays replaced."""
        self._removals.pop(chat_id, None)

    def undo(self, chat_id: str) -> None:
        """Bring back what was replaced last; a reply that is being written ends first."""
        if self._answering.running(chat_id):
            self._undo_at_end.add(chat_id)
            self._answering.stop(chat_id)
        elif chat_id in self._removals:
            self._bring_back(self._removals.pop(chat_id))

    def give_back(self, reply: Reply) -> bool:
        """A reply could not be: bring back what it or its question had replaced, if it had."""
        removal = self._removals.get(reply.chat_id)
        if removal is None or removal.first_new_id not in (reply.question.id, reply.message.id):
            return False
        self._bring_back(self._removals.pop(reply.chat_id))
        return True

    def _bring_back(self, removal: Removal) -> None:
        try:
            self._store.undo(removal)
        except KnownError as error:
            self.notice.emit(Notice(str(error), chat_id=removal.chat_id))
        self.undone.emit(removal.chat_id)

    def _on_ended(self, chat_id: str) -> None:
        if chat_id in self._undo_at_end:
            self._undo_at_end.discard(chat_id)
            self.undo(chat_id)

    def _tell(self, chat_id: str, sentence: str) -> None:
        self.notice.emit(Notice(sentence, action=NoticeAction.UNDO, chat_id=chat_id, calm=True))
