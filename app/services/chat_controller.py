"""What happens in chats: opening, writing, editing, answering, and the drafts.

The user's wishes come in; the store and the item models are brought up to date and signals tell the
rest. Promises: a user's message is in the store before anybody answers it; a draft is lost neither
by switching chats nor by a failure nor by a restart. It knows nothing about widgets or engines.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.data.chat_store import ChatStore
from app.data.stored_message import StoredMessage
from app.item_models.transcript_item_model import TranscriptItemModel
from app.services.answering import Answering
from app.services.attachments import Attachments
from app.services.branches import Branches
from app.services.chat_list import ChatList
from app.services.drafts import Drafts, Edit
from app.services.notice import Notice
from app.services.replies import Reply
from engine.errors import KnownError
from engine.protocol import Role


class ChatController(QObject):
    """Owns which chat is open, and the drafts."""

    chat_opened = Signal()
    """Another chat is open: read `open_chat_id` and `draft`."""

    chat_created = Signal(str)
    """The id of the chat that the new chat became with its first message."""

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
        branches: Branches,
        transcript: TranscriptItemModel,
        *,
        attachments: Attachments,
        chats: ChatList,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._answering = answering
        self._branches = branches
        self._attachments = attachments
        self._chats = chats
        self._transcript = transcript
        self._open: str | None = None
        self._drafts = Drafts(store, self)
        self._sent_edits: dict[str, Edit] = {}
        self._connect()

    def _connect(self) -> None:
        self._chats.deleted.connect(self._on_deleted)
        self._chats.restored.connect(self.open)
        self._drafts.failed.connect(lambda sentence: self.notice.emit(Notice(sentence)))
        self._answering.changed.connect(self._on_changed)
        self._answering.ended.connect(self._on_ended)
        self._answering.returned.connect(self._on_returned)
        self._answering.prefill.connect(self._on_prefill)
        self._answering.notice.connect(self.notice)
        self._branches.shown.connect(self._on_shown)
        self._branches.notice.connect(self.notice)

    @property
    def open_chat_id(self) -> str | None:
        """The open chat; None is a new one that has no message yet."""
        return self._open

    @property
    def running(self) -> bool:
        """Whether a reply is being written, or waiting to be, in the open chat."""
        return self._answering.is_answering(self._open)

    # --- chats ------------------------------------------------------------------------------------

    def open(self, chat_id: str | None) -> None:
        """Show a chat; None shows an empty one, which is stored with its first message."""
        if chat_id is not None and chat_id == self._open:
            self.chat_opened.emit()  # it stands where the reader left it
            return
        try:
            chat = self._branches.read(chat_id)
        except KnownError as error:
            self._tell(error)
            return
        self._open = chat_id
        self._transcript.set_messages(chat.messages, chat.variants)
        self.prefill.emit(None)
        self.running_changed.emit(self.running)
        self.chat_opened.emit()

    def open_at(self, chat_id: str, message_id: int) -> None:
        """Show a chat in the branch that a message stands in."""
        try:
            self._store.show_message(message_id)
        except KnownError as error:
            self._tell(error)
        if chat_id == self._open:
            self._show_again(chat_id)
        self.open(chat_id)

    # --- drafts -----------------------------------------------------------------------------------

    def draft(self) -> str:
        """What stands in the composer of the open chat."""
        return self._drafts.text(self._open)

    def set_draft(self, text: str) -> None:
        """Remember what stands in the composer of the open chat."""
        self._drafts.set_text(self._open, text)

    def save_drafts(self) -> None:
        """Store all drafts now."""
        self._drafts.save()

    def history(self) -> list[str]:
        """What the user has said in the open chat, oldest first."""
        rows = range(self._transcript.rowCount())
        messages = (self._transcript.message_at(row) for row in rows)
        return [message.content for message in messages if message.role is Role.USER]

    def edit(self) -> Edit | None:
        """What is being edited in the open chat."""
        return self._drafts.edit(self._open)

    def begin_edit(self, message_id: int) -> None:
        """Let the user write one of the open chat's user messages anew."""
        message, number = self._transcript.message(message_id), self._transcript.number_of(message_id)
        if not message or not number or message.role is not Role.USER:
            return
        former = self.edit()
        draft = former.former_draft if former else self.draft()
        aside = self._attachments.take(self._open)
        edit = Edit(message, number, draft, former.former_attachments if former else aside)
        self._drafts.begin_edit(edit, message.content)
        self._attachments.set(self._open, message.attachments)
        self.draft_changed.emit()

    def cancel_edit(self) -> None:
        """Leave the message as it was; what had been written before stands in the composer again."""
        if edit := self._drafts.end_edit(self._open):
            self._attachments.set(self._open, edit.former_attachments)
            self.draft_changed.emit()

    # --- messages ---------------------------------------------------------------------------------

    def send(self, n_replies: int = 1) -> None:
        """Store the draft as a message, or as another version of the edited one, and have it answered."""
        text = self.draft()
        is_empty = not text.strip() and not self._attachments.of_chat(self._open)
        if is_empty or self.running or self._attachments.is_reading(self._open):
            return
        try:
            if edit := self.edit():
                self._send_edit(edit, text, n_replies)
            else:
                self._send_new(text, n_replies)
        except KnownError as error:
            self._tell(error)
        self.running_changed.emit(self.running)

    def send_example(self, text: str) -> None:
        """Send `text` as it is; what is being written stays."""
        draft = self.draft()
        self.set_draft(text)
        self.send()
        self.set_draft(draft)
        self.draft_changed.emit()

    def stop(self) -> None:
        """End the replies of the open chat; what came so far stays."""
        self._answering.stop(self._open)

    def _send_edit(self, edit: Edit, text: str, n_replies: int) -> None:
        chat_id = edit.message.chat_id
        attachments = self._attachments.take(chat_id)
        try:
            self._branches.edit(edit, text, attachments, n_replies)
        except KnownError:
            self._attachments.give_back(chat_id, attachments)
            raise
        self._sent_edits[chat_id] = edit
        self._drafts.end_edit(chat_id)
        self._attachments.set(chat_id, edit.former_attachments)
        self.draft_changed.emit()
        self._chats.show(chat_id)

    def _send_new(self, text: str, n_replies: int) -> None:
        chat_id = self._open_or_create()
        self._branches.go_with_shown(chat_id)
        former_head = self._store.head(chat_id)
        attachments = self._attachments.take(chat_id)
        try:
            question = self._store.add_user_message(chat_id, text, attachments)
        except KnownError:
            self._attachments.give_back(chat_id, attachments)
            raise
        self._sent_edits.pop(chat_id, None)
        self.set_draft("")
        self._transcript.append(question)
        self.draft_changed.emit()
        self._chats.show(chat_id)
        replies = self._branches.begin(question, former_head, n_replies=n_replies)
        self._transcript.append(replies[0], replies[1:] and replies)

    def _open_or_create(self) -> str:
        if self._open is None:
            chat = self._store.create_chat()
            self._drafts.move(chat.id)
            self._attachments.move(chat.id)
            self._open = chat.id
            self._chats.add(chat)
            self.chat_created.emit(chat.id)
            self.chat_opened.emit()
        return self._open

    def _show_again(self, chat_id: str) -> None:
        try:
            self._branches.show(chat_id)
        except KnownError as error:
            self._tell(error)

    # --- from the others --------------------------------------------------------------------------

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
        chat_id, question = reply.chat_id, reply.question
        edit = self._sent_edits.pop(chat_id, None)
        if not reply.is_again:
            self._attachments.give_back(chat_id, question.attachments)
        if edit and not reply.is_again:
            self._drafts.begin_edit(edit, question.content)
        elif not reply.is_again:
            self._drafts.give_back(chat_id, question.content)
        if chat_id == self._open:
            self._show_again(chat_id)
            self.draft_changed.emit()
        self._leave_empty(chat_id)

    def _leave_empty(self, chat_id: str) -> None:
        """A chat whose first message was refused was never one: what was written goes back to a new chat."""
        try:
            if self._store.head(chat_id) is not None:
                return
        except KnownError:
            return
        text, attachments = self._drafts.text(chat_id), self._attachments.take(chat_id)
        self._drafts.set_text(chat_id, "")
        self._drafts.give_back(None, text)
        self._attachments.give_back(None, attachments)
        self._chats.drop(chat_id)

    def _on_deleted(self, chat_id: str) -> None:
        if chat_id == self._open:
            self.open(None)
        self._answering.forget(chat_id)

    def _on_shown(self, chat_id: str) -> None:
        if chat_id == self._open:
            edit = self.edit()
            if edit and self._transcript.message(edit.message.id) is None:
                self.cancel_edit()  # its message is in another branch
            self.running_changed.emit(self.running)
            self.shown_again.emit(chat_id)

    def _tell(self, error: KnownError) -> None:
        self.notice.emit(Notice(str(error), chat_id=self._open))
