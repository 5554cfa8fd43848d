"""Questions -> replies: what is asked of the engine, and what comes back for which chat.

A stored user message goes in with `begin`, for one reply or several to choose from, or a reply that shall
`go_on`; the replies' messages come out as they grow, and their end.
Promises: what the engine says lands in the chat that asked, or nowhere if that was deleted; a reply
that was cut short keeps its text; a request waits until a model is ready, also after a crash. It
knows nothing about which chat is open.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, Signal

from app.data.chat_store import ChatStore
from app.data.stored_message import MessageState, StoredMessage, TurnNumbers
from app.services.answer_notices import all_the_same, notice_of_ending
from app.services.chat_options import ChatOptionsService
from app.services.model_loader import ModelLoader
from app.services.notice import Notice
from app.services.prompt import prompt_of
from app.services.replies import Replies, Reply
from app.services.reply_request import numbers_of, request_of
from engine.errors import EngineGone, KnownError
from engine.protocol import (
    Cancel,
    Event,
    Failed,
    Finished,
    FinishReason,
    Forget,
    PrefillProgress,
    TextDelta,
)


class Answering(QObject):
    """Owns the running replies: in each chat one, or those that were asked for together."""

    changed = Signal(object)
    """The `StoredMessage` of a reply that grew or ended."""

    prefill = Signal(str, object)
    """Chat id and the `PrefillProgress` of its reply; None once text comes."""

    ended = Signal(str)
    """The id of a chat in which no reply is written any more, in whatever way the last one ended."""

    chats_changed = Signal(object)
    """The ids of the chats that are being answered now, as a frozenset."""

    dropped = Signal(object)
    """The `StoredMessage` of a reply that could not be, and is in the chat no more, while others are."""

    returned = Signal(object)
    """A `Reply` that could not be, and is in the chat no more; nor is its question, unless it had been
    answered before."""

    measured = Signal(str, object)
    """The id of a chat whose reply is ending, and its `TurnStats`; of several replies, those of the first."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(
        self,
        store: ChatStore,
        loader: ModelLoader,
        options: ChatOptionsService,
        hold: Callable[[], Notice | None] = lambda: None,
        parent: QObject | None = None,
    ) -> None:
        """`hold`: why nothing may be asked of the engine now; `send_waiting` has to be called when it may."""
        super().__init__(parent)
        self._hold = hold
        self._store = store
        self._loader = loader
        self._options = options
        self._replies = Replies(store, self)
        self._replies.changed.connect(self.changed)
        self._replies.failed.connect(lambda message: self.notice.emit(Notice(message)))
        loader.event_received.connect(self._on_event)
        loader.leaving.connect(self.cancel_all)
        loader.engine_lost.connect(self._on_engine_lost)
        loader.model_ready.connect(self.send_waiting)

    def begin(
        self, question: StoredMessage, former_head: int | None, *, is_again: bool = False, n_replies: int = 1
    ) -> list[StoredMessage]:
        """Have `question` answered, perhaps again, by so many replies; returns the empty ones.

        `former_head` is the chat's last message before. Raises KnownError if they cannot be stored.
        """
        if n_replies > 1 and not self._options.effective(question.chat_id).sampling.temperature:
            n_replies = 1
            self.notice.emit(all_the_same(question.chat_id))
        name = self._loader.expected_name
        replies = self._replies.begin(question, name, former_head, is_again=is_again, n_replies=n_replies)
        for reply in replies:
            self._request(reply)
        self._tell_chats()
        return [reply.message for reply in replies]

    def go_on(self, question: StoredMessage, begun: StoredMessage) -> StoredMessage:
        """Have a reply to `question` go on where it ended; returns it as it is now.

        Raises KnownError if that cannot be stored.
        """
        reply = self._replies.go_on(question, begun)
        self._request(reply)
        self._tell_chats()
        return reply.message

    def own_reply(self, chat_id: str | None) -> Reply | None:
        """The reply that the chat's own sequence writes, or is going to write: the first of several."""
        return next((reply for reply in self._replies.of_chat(chat_id) if reply.number == 0), None)

    def is_answering(self, chat_id: str | None) -> bool:
        """Whether any reply is being written in a chat, or waiting for a model."""
        return bool(self._replies.of_chat(chat_id))

    @property
    def is_writing(self) -> bool:
        """Whether the engine is at work on any reply."""
        return any(reply.prompt for reply in self._replies)

    def written(self, stored: Iterable[StoredMessage]) -> list[StoredMessage]:
        """These messages as they are now: the store may be a second behind those that are being written."""
        now = {reply.message.id: reply.message for reply in self._replies}
        return [now.get(message.id, message) for message in stored]

    def stop(self, chat_id: str | None) -> None:
        """End all replies of a chat; what came so far stays."""
        for reply in self._replies.of_chat(chat_id):
            self._stop(reply)

    def stop_reply(self, message_id: int) -> None:
        """End one reply; others of its chat go on."""
        if reply := self._replies.of_message(message_id):
            self._stop(reply)

    def stop_others(self, message_id: int) -> None:
        """End all replies that were asked for together with this one."""
        others = (reply for reply in self._replies if message_id in reply.together)
        for reply in others:
            if reply.message.id != message_id:
                self._stop(reply)

    def cancel_all(self) -> None:
        """End what the engine is writing; what waits for a model goes on waiting."""
        for reply in self._replies:
            self._cancel(reply)

    def forget(self, chat_id: str) -> None:
        """The chat was deleted: what is written ends with the text so far, its cache is freed."""
        replies = self._replies.of_chat(chat_id)
        for reply in replies:
            self._cancel(reply)
        with contextlib.suppress(EngineGone):
            self._loader.send(Forget(chat_id))
        for reply in replies:
            self._end(reply, MessageState.INTERRUPTED)

    def close(self) -> None:
        """End everything at once: what came so far is stored as interrupted."""
        for reply in self._replies:
            self._cancel(reply)
            self._end(reply, MessageState.INTERRUPTED)

    # --- towards the engine -----------------------------------------------------------------------

    def _request(self, reply: Reply) -> None:
        """Send a reply's request; without a model it waits for one, and while something holds it."""
        if why := self._hold():
            reply.prompt = None
            self.notice.emit(dataclasses.replace(why, chat_id=reply.chat_id))
            return
        settings = self._options.effective(reply.chat_id)
        last = reply.message if reply.text_before else reply.question
        try:
            stored = [m for m in self._store.messages(reply.chat_id) if m.id <= last.id]
            prompt = prompt_of(stored, settings.system_prompt)
            self._loader.send(request_of(reply, prompt, settings))
            reply.prompt = prompt
        except EngineGone:
            reply.prompt = None

    def _stop(self, reply: Reply) -> None:
        if reply.prompt:
            self._cancel(reply)  # the engine ends it with `Finished`
        else:
            self._end(reply, MessageState.INTERRUPTED)

    def _cancel(self, reply: Reply) -> None:
        if reply.prompt:
            with contextlib.suppress(EngineGone):
                self._loader.send(Cancel(reply.request_id))

    def send_waiting(self) -> None:
        """Ask what had to wait, for a model or for whatever else has ended."""
        for reply in self._replies:
            if reply.prompt is None:
                try:
                    self._request(reply)
                except KnownError as error:
                    self._give_back(reply, Notice(str(error), chat_id=reply.chat_id))

    # --- from the engine --------------------------------------------------------------------------

    def _on_engine_lost(self) -> None:
        for reply in self._replies:
            if reply.prompt:
                self._end(reply, MessageState.INTERRUPTED)

    def _on_event(self, event: Event) -> None:
        reply = self._replies.get(getattr(event, "request_id", None))
        if reply is None:
            return
        match event:
            case PrefillProgress(_, n_done):
                reply.n_read = n_done
                self.prefill.emit(reply.chat_id, event)
            case TextDelta(_, text, n_generated):
                reply.n_written = n_generated
                if not reply.has_new_text:
                    self.prefill.emit(reply.chat_id, None)
                self._replies.append(reply, text)
            case Finished():
                self._on_finished(reply, event)
            case Failed(_, error):
                self._on_failed(reply, Notice(error.message, error.detail, chat_id=reply.chat_id))

    def _on_finished(self, reply: Reply, event: Finished) -> None:
        cut_short = event.reason in (FinishReason.CANCELLED, FinishReason.ERROR)
        state = MessageState.INTERRUPTED if cut_short else MessageState.COMPLETE
        if reply.number == 0:
            self.measured.emit(reply.chat_id, event.stats)
        before = reply.begun.numbers if reply.begun else None
        numbers = numbers_of(event)
        self._end(reply, state, event.text, before.followed_by(numbers) if before else numbers)
        if notice := notice_of_ending(event.reason, reply.chat_id):
            self.notice.emit(notice)

    def _on_failed(self, reply: Reply, notice: Notice) -> None:
        if reply.message.content:
            self._end(reply, MessageState.INTERRUPTED)
            self.notice.emit(notice)
        else:
            self._give_back(reply, notice)

    def _give_back(self, reply: Reply, notice: Notice) -> None:
        """Take a reply that could not be out of the chat again; with the last one of them goes the question.

        A question that was answered once stays.
        """
        others: list[StoredMessage] = []
        try:
            self._replies.discard(reply)
            others = self._store.some_messages(reply.chat_id, reply.together)
            if not (others or reply.is_again):
                self._store.discard_message(reply.question.id)
            if not others:
                self._store.show_branch(reply.chat_id, reply.former_head)
            elif self._store.head(reply.chat_id) == reply.question.id:
                self._store.show_branch(reply.chat_id, others[0].id)
        except KnownError as error:
            self.notice.emit(Notice(str(error), chat_id=reply.chat_id))
        self.dropped.emit(reply.message) if others else self.returned.emit(reply)
        self._tell_ended(reply.chat_id)
        is_gone = reply.former_head is None and not others  # a refused first message leaves no chat
        self.notice.emit(dataclasses.replace(notice, chat_id=None) if is_gone else notice)

    def _end(
        self, reply: Reply, state: MessageState, text: str | None = None, numbers: TurnNumbers | None = None
    ) -> None:
        if numbers is None and reply.begun:
            numbers = reply.begun.numbers
        self._replies.finish(reply, state, text, numbers)
        self._tell_ended(reply.chat_id)

    def _tell_ended(self, chat_id: str) -> None:
        if not self.is_answering(chat_id):
            self.ended.emit(chat_id)
        self._tell_chats()

    def _tell_chats(self) -> None:
        self.chats_changed.emit(frozenset(reply.chat_id for reply in self._replies))
