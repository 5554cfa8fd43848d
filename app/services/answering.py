"""Questions -> replies: what is asked of the engine, and what comes back for which chat.

A stored user message goes in with `begin`; the reply's message comes out as it grows, and its end.
Promises: what the engine says lands in the chat that asked, or nowhere if that was deleted; a reply
that was cut short keeps its text; a request waits until a model is ready, also after a crash. It
knows nothing about which chat is open.
"""

from __future__ import annotations

import contextlib

from PySide6.QtCore import QObject, Signal

from app.data.chat_store import ChatStore
from app.data.stored_message import MessageState, StoredMessage, TurnNumbers
from app.services.model_loader import ModelLoader
from app.services.notice import Notice, NoticeAction
from app.services.preferences import Preferences
from app.services.prompt import prompt_of
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
    PrefillProgress,
    TextDelta,
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
    """A `Reply` that could not be, and is in the chat no more; nor is its question, unless it had been
    answered before."""

    measured = Signal(str, object)
    """The id of a chat whose reply is ending, and its `TurnStats`."""

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

    def begin(self, question: StoredMessage, *, is_again: bool = False) -> StoredMessage:
        """Have `question` answered, perhaps again; returns the empty reply.

        Raises KnownError if it cannot be stored.
        """
        reply = self._replies.begin(question, self._loader.expected_name, is_again=is_again)
        self._request(reply)
        return reply.message

    def running(self, chat_id: str | None) -> Reply | None:
        """The reply being written in a chat, or waiting for a model, with its request."""
        return self._replies.of_chat(chat_id)

    def reply_of(self, chat_id: str | None) -> StoredMessage | None:
        """The reply being written in a chat, as it is now."""
        reply = self._replies.of_chat(chat_id)
        return reply.message if reply else None

    def stop(self, chat_id: str | None) -> None:
        """End the reply of a chat; what came so far stays."""
        reply = self._replies.of_chat(chat_id)
        if reply and reply.prompt:
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
            stored = [m for m in self._store.messages(reply.chat_id) if m.id <= reply.question.id]
            prompt = prompt_of(stored, settings.system_prompt)
            self._loader.send(
                Generate(
                    reply.request_id,
                    reply.chat_id,
                    prompt.messages,
                    settings.sampling,
                    settings.max_tokens,
                    cache=settings.cache,
                )
            )
            reply.prompt = prompt
        except EngineGone:
            reply.prompt = None

    def _cancel(self, reply: Reply) -> None:
        if reply.prompt:
            with contextlib.suppress(EngineGone):
                self._loader.send(Cancel(reply.request_id))

    def _send_waiting(self) -> None:
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
        self.measured.emit(reply.chat_id, event.stats)
        self._end(reply, state, event.text, _numbers(event))
        if event.reason is FinishReason.CONTEXT_FULL:
            sentence = self.tr(
                "This chat has filled its context, and its policy is to stop there. Nothing was lost: "
                "let the oldest messages leave the model's view, or choose a larger context."
            )
            self.notice.emit(Notice(sentence, action=NoticeAction.GO_ON_ENDLESS, chat_id=reply.chat_id))
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
        """Take a question that could not be answered out of the chat again; one that was once stays."""
        try:
            self._replies.discard(reply)
            if not reply.is_again:
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


def _numbers(event: Finished) -> TurnNumbers:
    stats = event.stats
    return TurnNumbers(
        stats.tokens_generated,
        stats.decode_tps,
        stats.ttft_ms,
        stats.prefill_tps,
        event.reason,
        stats.reevaluated_because,
    )
