"""Questions -> replies: what is asked of the engine, and what comes back for which chat.

A stored user message goes in with `begin`; the reply's message comes out as it grows, and its end.
Promises: what the engine says lands in the chat that asked, or nowhere if that was deleted; a reply
that was cut short keeps its text; a request waits until a model is ready, also after a crash. It
knows nothing about which chat is open.
"""

from __future__ import annotations

import contextlib

from PySide6.QtCore import QObject, Signal

from app.data.chat_store import ChatStore, MessageState, StoredMessage, TurnNumbers
from app.services.model_loader import ModelLoader
from app.services.notice import Notice
from app.services.preferences import Preferences
from app.services.prompt import prompt_messages
from app.services.replies import Replies, Reply
from engine.errors import EngineGone, KnownError
from engine.protocol import (
    Cancel,
    Event,
    Failed,
    Finished,
    FinishReason,
    Forget,
    Generate,
    Message,
    PrefillProgress,
    Role,
    TextDelta,
    TurnStats,
)


class Answering(QObject):
    """Owns the running replies, at most one a chat."""

    changed = Signal(object)
    """The `StoredMessage` of a reply that grew or ended."""

    prefill = Signal(str, object)
    """Chat id and the `PrefillProgress` of its reply; None once text comes."""

    ended = Signal(str)
    """The id of a chat whose reply has ended in whatever way."""

    returned = Signal(object)
    """A `Reply` that could not be: it and the question it was to answer are in the chat no more."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(
        self,
        store: ChatStore,
        loader: ModelLoader,
        preferences: Preferences,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._loader = loader
        self._preferences = preferences
        self._replies = Replies(store, self)
        self._replies.changed.connect(self.changed)
        self._replies.failed.connect(lambda message: self.notice.emit(Notice(message)))
        loader.event_received.connect(self._on_event)
        loader.leaving.connect(self.cancel_all)
        loader.engine_lost.connect(self._on_engine_lost)
        loader.model_ready.connect(self._send_waiting)

    def begin(self, question: StoredMessage) -> StoredMessage:
        """Have `question` answered; returns the empty reply. Raises KnownError if it cannot be stored."""
        reply = self._replies.begin(question, self._loader.expected_name)
        self._request(reply)
        return reply.message

    def reply_of(self, chat_id: str | None) -> StoredMessage | None:
        """The reply being written in a chat, as it is now."""
        reply = self._replies.of_chat(chat_id)
        return reply.message if reply else None

    def stop(self, chat_id: str | None) -> None:
        """End the reply of a chat; what came so far stays."""
        reply = self._replies.of_chat(chat_id)
        if reply and reply.sent:
            self._cancel(reply)  # the engine ends it with `Finished`
        elif reply:
            self._end(reply, MessageState.INTERRUPTED)

    def cancel_all(self) -> None:
        """End what the engine is writing; what waits for a model goes on waiting."""
        for reply in self._replies:
            self._cancel(reply)

    def forget(self, chat_id: str) -> None:
        """The chat was deleted: nothing of it is written any more, its cache is freed."""
        if reply := self._replies.of_chat(chat_id):
            self._cancel(reply)
            self._replies.abandon(reply)
        with contextlib.suppress(EngineGone):
            self._loader.send(Forget(chat_id))

    def close(self) -> None:
        """End everything at once: what came so far is stored as interrupted."""
        for reply in self._replies:
            self._cancel(reply)
            self._end(reply, MessageState.INTERRUPTED)

    # --- towards the engine -----------------------------------------------------------------------

    def _request(self, reply: Reply) -> None:
        """Send a reply's request; without a model it waits for one."""
        settings = self._preferences.settings
        try:
            messages = self._prompt(reply)
            self._loader.send(
                Generate(reply.request_id, reply.chat_id, messages, settings.sampling, settings.max_tokens)
            )
            reply.sent = True
        except EngineGone:
            reply.sent = False

    def _prompt(self, reply: Reply) -> tuple[Message, ...]:
        stored = [m for m in self._store.messages(reply.chat_id) if m.id <= reply.question.id]
        system = self._preferences.settings.system_prompt
        first = (Message(Role.SYSTEM, system),) if system.strip() else ()
        return first + prompt_messages(stored)

    def _cancel(self, reply: Reply) -> None:
        if reply.sent:
            with contextlib.suppress(EngineGone):
                self._loader.send(Cancel(reply.request_id))

    def _send_waiting(self) -> None:
        for reply in self._replies:
            if not reply.sent:
                try:
                    self._request(reply)
                except KnownError as error:
                    self._give_back(reply, Notice(str(error), chat_id=reply.chat_id))

    # --- from the engine --------------------------------------------------------------------------

    def _on_engine_lost(self) -> None:
        for reply in self._replies:
            if reply.sent:
                self._end(reply, MessageState.INTERRUPTED)

    def _on_event(self, event: Event) -> None:
        reply = self._replies.get(getattr(event, "request_id", None))
        if reply is None:
            return
        match event:
            case PrefillProgress():
                self.prefill.emit(reply.chat_id, event)
            case TextDelta(_, text):
                if not reply.message.content:
                    self.prefill.emit(reply.chat_id, None)
                self._replies.append(reply, text)
            case Finished():
                self._on_finished(reply, event)
            case Failed(_, error):
                self._on_failed(reply, Notice(error.message, error.detail, chat_id=reply.chat_id))

    def _on_finished(self, reply: Reply, event: Finished) -> None:
        cut_short = event.reason in (FinishReason.CANCELLED, FinishReason.ERROR)
        state = MessageState.INTERRUPTED if cut_short else MessageState.COMPLETE
        self._end(reply, state, event.text, _numbers(event.stats))
        if event.reason is FinishReason.ERROR:
            sentence = self.tr(
                "The engine could not go on with this reply. The text so far is kept: ask again."
            )
            self.notice.emit(Notice(sentence, chat_id=reply.chat_id))

    def _on_failed(self, reply: Reply, notice: Notice) -> None:
        if reply.message.content:
            self._end(reply, MessageState.INTERRUPTED)
            self.notice.emit(notice)
        else:
            self._give_back(reply, notice)

    def _give_back(self, reply: Reply, notice: Notice) -> None:
        """Take a question that could not be answered out of the chat again."""
        try:
            self._replies.discard(reply)
            self._store.delete_message(reply.question.id)
        except KnownError as error:
            self.notice.emit(Notice(str(error), chat_id=reply.chat_id))
        self.returned.emit(reply)
        self.ended.emit(reply.chat_id)
        self.notice.emit(notice)

    def _end(
        self, reply: Reply, state: MessageState, text: str | None = None, numbers: TurnNumbers | None = None
    ) -> None:
        self._replies.finish(reply, state, text, numbers)
        self.ended.emit(reply.chat_id)


def _numbers(stats: TurnStats) -> TurnNumbers:
    return TurnNumbers(stats.tokens_generated, stats.decode_tps, stats.ttft_ms, stats.prefill_tps)
