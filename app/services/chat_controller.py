"""What happens to chats: opening, writing, editing, renaming, deleting, and the drafts.

The user's wishes come in; the store and the item models are brought up to date and signals tell the
rest. Promises: a user's message is in the store before anybody answers it; a draft is lost neither
by switching chats nor by a failure. It knows nothing about widgets or engines.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.data.chat_store import ChatStore
from app.data.stored_message import StoredMessage
from app.item_models.chat_list_item_model import ChatListItemModel
from app.item_models.transcript_item_model import TranscriptItemModel
from app.services.answering import Answering
from app.services.drafts import Drafts, Edit
from app.services.notice import Notice
from app.services.replies import Reply
from app.services.revisions import Revisions
from engine.errors import KnownError
from engine.protocol import Role


class ChatController(QObject):
    """Owns which chat is open, and the drafts."""

    chat_opened = Signal()
    """Another chat is open: read `open_chat_id` and `draft`."""

    shown_again = Signal(str)
    """The id of the open chat, whose messages were changed otherwise than by a reply."""

    running_changed = Signal(bool)
    """Whether a reply is being written in the open chat."""

    prefill = Signal(object)
    """The `PrefillProgress` of the open chat, None when there is nothing being read."""

    draft_changed = Signal()
    """The open chat's draft or `edit` was changed by something else than typing."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(
        self,
        store: ChatStore,
        answering: Answering,
        revisions: Revisions,
        chats: ChatListItemModel,
        transcript: TranscriptItemModel,
        *,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._answering = answering
        self._revisions = revisions
        self._chats = chats
        self._transcript = transcript
        self._open: str | None = None
        self._drafts = Drafts()
        self._sent_edits: dict[str, Edit] = {}
        chats.rename_requested.connect(self.rename)
        answering.changed.connect(self._on_changed)
        answering.ended.connect(self._on_ended)
        answering.returned.connect(self._on_returned)
        answering.prefill.connect(self._on_prefill)
        answering.notice.connect(self.notice)
        revisions.undone.connect(self._on_undone)
        revisions.notice.connect(self.notice)

    @property
    def open_chat_id(self) -> str | None:
        """The open chat; None is a new one that has no message yet."""
        return self._open

    @property
    def running(self) -> bool:
        """Whether a reply is being written, or waiting to be, in the open chat."""
        return self._answering.reply_of(self._open) is not None

    def refresh(self) -> None:
        """Read the list of chats from the store."""
        try:
            self._chats.set_chats(self._store.list_chats())
        except KnownError as error:
            self._tell(error)

    def open(self, chat_id: str | None) -> None:
        """Show a chat; None shows an empty one, which is stored with its first message."""
        if chat_id is not None and chat_id == self._open:
            self.chat_opened.emit()  # it stands where the reader left it
            return
        try:
            messages = self._store.messages(chat_id) if chat_id else []
        except KnownError as error:
            self._tell(error)
            return
        self._open = chat_id
        reply = self._answering.reply_of(chat_id)
        # The store may be a second behind the reply that is being written.
        self._transcript.set_messages([reply if reply and reply.id == m.id else m for m in messages])
        self.prefill.emit(None)
        self.running_changed.emit(self.running)
        self.chat_opened.emit()

    def rename(self, chat_id: str, title: str) -> None:
        """Give a chat another title."""
        try:
            self._store.rename_chat(chat_id, title)
            self._refresh_chat(chat_id)
        except KnownError as error:
            self._tell(error)

    def delete(self, chat_id: str) -> None:
        """Delete a chat; a reply that is being written ends with it."""
        try:
            self._store.delete_chat(chat_id)
        except KnownError as error:
            self._tell(error)
            return
        self._answering.forget(chat_id)
        self._drafts.forget(chat_id)
        self._chats.remove(chat_id)
        if self._open == chat_id:
            self.open(None)

    def draft(self) -> str:
        """What stands in the composer of the open chat."""
        return self._drafts.text(self._open)

    def set_draft(self, text: str) -> None:
        """Remember what stands in the composer of the open chat."""
        self._drafts.set_text(self._open, text)

    def edit(self) -> Edit | None:
        """What is being edited in the open chat."""
        return self._drafts.edit(self._open)

    def begin_edit(self, message_id: int) -> None:
        """Let the user write one of the open chat's user messages anew."""
        message, number = self._transcript.message(message_id), self._transcript.number_of(message_id)
        if message and number and message.role is Role.USER:
            self._drafts.begin_edit(message, number)
            self.draft_changed.emit()

    def cancel_edit(self) -> None:
        """Leave the message as it was; what had been written before stands in the composer again."""
        if self._drafts.end_edit(self._open):
            self.draft_changed.emit()

    def again(self) -> None:
        """Have the last reply of the open chat written again."""
        if not self.running:
            self._revisions.again()
            self.running_changed.emit(self.running)

    def undo(self) -> None:
        """Bring back what was replaced last in the open chat."""
        if self._open:
            self._revisions.undo(self._open)

    def send(self) -> None:
        """Store the open chat's draft as the user's message, and have it answered.

        While a message is being edited, the draft takes its place.
        """
        text = self.draft()
        if not text.strip() or self.running:
            return
        try:
            question = self._store_question(text)
        except KnownError as error:
            self._tell(error)
            return
        self._transcript.append(question)
        self.draft_changed.emit()
        try:
            self._refresh_chat(question.chat_id)
            self._transcript.append(self._answering.begin(question))
        except KnownError as error:
            self._tell(error)
        self.running_changed.emit(self.running)

    def stop(self) -> None:
        """End the reply of the open chat; what came so far stays."""
        self._answering.stop(self._open)

    def _store_question(self, text: str) -> StoredMessage:
        edit = self.edit()
        if edit:
            question = self._revisions.replace(edit, text)
            self._drafts.end_edit(self._open)
            self._sent_edits[question.chat_id] = edit
        else:
            question = self._store.add_user_message(self._open_or_create(), text)
            self._revisions.keep(question.chat_id)
            self._sent_edits.pop(question.chat_id, None)
            self.set_draft("")
        return question

    def _open_or_create(self) -> str:
        if self._open is None:
            chat = self._store.create_chat()
            self._drafts.move(chat.id)
            self._open = chat.id
            self._chats.put_first(chat)
            self.chat_opened.emit()
        return self._open

    def _refresh_chat(self, chat_id: str) -> None:
        """Show a chat's title as the store has it, on top if it is the newest."""
        chats = self._store.list_chats()
        chat = next((chat for chat in chats if chat.id == chat_id), None)
        if chat and chat is chats[0]:
            self._chats.put_first(chat)
        elif chat:
            self._chats.update_chat(chat)

    def _on_changed(self, message: StoredMessage) -> None:
        if message.chat_id == self._open:
            self._transcript.update_message(message)

    def _on_prefill(self, chat_id: str, progress: object) -> None:
        if chat_id == self._open:
            self.prefill.emit(progress)

    def _on_ended(self, chat_id: str) -> None:
        if chat_id == self._open:
            self.prefill.emit(None)
            self.running_changed.emit(False)

    def _on_returned(self, reply: Reply) -> None:
        chat_id, text = reply.chat_id, reply.question.content
        came_back = self._revisions.give_back(reply)
        if not came_back and chat_id == self._open:
            self._transcript.remove(reply.message.id)
            self._transcript.remove(reply.question.id)
        edit = self._sent_edits.pop(chat_id, None)
        if edit and came_back and not reply.is_again:
            self._drafts.begin_edit(edit.message, edit.number)
            self._drafts.set_text(chat_id, text)
        elif not reply.is_again:
            self._drafts.give_back(chat_id, text)
        if chat_id == self._open:
            self.draft_changed.emit()

    def _on_undone(self, chat_id: str) -> None:
        """Former messages are back: show them."""
        self._drafts.end_edit(chat_id)
        if chat_id == self._open:
            try:
                self._transcript.set_messages(self._store.messages(chat_id))
            except KnownError as error:
                self._tell(error)
            self.draft_changed.emit()
            self.shown_again.emit(chat_id)

    def _tell(self, error: KnownError) -> None:
        self.notice.emit(Notice(str(error), chat_id=self._open))
