"""The replies that are being written now, and their way into the store.

Pieces of text go in by request id; messages come out, with every reply's text stored at least every
two seconds and at its end. A chat has one running reply, or several to one question (variants). A request
that is not known (any more) changes nothing, so what a worker still says about a deleted chat lands
nowhere. It knows nothing about prompts or models.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal

from app.data.chat_store import ChatStore
from app.data.stored_message import MessageState, StoredMessage, TurnNumbers
from app.services.prompt import Prompt
from engine.errors import KnownError

SAVE_EVERY_MS = 1_000

_STREAMING = MessageState.STREAMING


@dataclass(slots=True)
class Reply:
    """One reply: `message` as it is now, and the user's message it answers.

    `prompt` is what was sent, None while it waits for a model. `former_head` is what the chat ended with
    before; `is_again`: the question was there before. `begun` is what a reply that goes on was until
    then. The tokens of the prompt that were read and those that were written are counted. It is variant
    `number`, from 0, of those that were asked for together, whose messages' ids are `together`.
    """

    request_id: int
    question: StoredMessage
    message: StoredMessage
    former_head: int | None = None
    is_again: bool = False
    begun: StoredMessage | None = None
    prompt: Prompt | None = None
    n_read: int = 0
    n_written: int = 0
    unsaved: bool = False
    number: int = 0
    together: tuple[int, ...] = ()

    @property
    def n_tokens(self) -> int:
        """Tokens that this turn has put into the cache so far."""
        return self.n_read + self.n_written

    @property
    def chat_id(self) -> str:
        """The chat that the reply belongs to."""
        return self.message.chat_id

    @property
    def text_before(self) -> str:
        """What a reply that goes on said until then."""
        return self.begun.content if self.begun else ""

    @property
    def has_new_text(self) -> bool:
        """Whether anything was written since this reply was asked for."""
        return len(self.message.content) > len(self.text_before)


class Replies(QObject):
    """All running replies; several in one chat were asked for together."""

    changed = Signal(object)
    """The `StoredMessage` of a reply that grew or ended."""

    failed = Signal(str)
    """One sentence: the text could not be stored. It stays on the screen."""

    def __init__(self, store: ChatStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._running: dict[int, Reply] = {}
        self._request_ids = itertools.count(1)
        self._timer = QTimer(self)
        self._timer.setInterval(SAVE_EVERY_MS)
        self._timer.timeout.connect(self.save)

    def __iter__(self) -> Iterator[Reply]:
        return iter(tuple(self._running.values()))

    def begin(
        self,
        question: StoredMessage,
        model: str | None,
        former_head: int | None,
        *,
        is_again: bool,
        n_replies: int = 1,
    ) -> list[Reply]:
        """Start so many empty replies to `question`. Raises KnownError when they cannot be stored."""
        messages = self._store.begin_replies(question, model, n_replies)
        together = tuple(message.id for message in messages)
        return [
            self._add(
                Reply(
                    *(next(self._request_ids), question, message, former_head, is_again),
                    number=number,
                    together=together,
                )
            )
            for number, message in enumerate(messages)
        ]

    def go_on(self, question: StoredMessage, begun: StoredMessage) -> Reply:
        """Go on with a reply that has ended. Raises KnownError when that cannot be stored."""
        message = self._store.continue_reply(begun)
        return self._add(
            Reply(next(self._request_ids), question, message, begun.id, is_again=True, begun=begun)
        )

    def get(self, request_id: int | None) -> Reply | None:
        """The running reply of a request."""
        return None if request_id is None else self._running.get(request_id)

    def of_chat(self, chat_id: str | None) -> tuple[Reply, ...]:
        """The running replies of a chat, in the order of their numbers."""
        return tuple(reply for reply in self._running.values() if reply.chat_id == chat_id)

    def of_message(self, message_id: int) -> Reply | None:
        """The running reply that writes a message."""
        return next((reply for reply in self._running.values() if reply.message.id == message_id), None)

    def append(self, reply: Reply, text: str) -> None:
        """The reply grew by `text`."""
        reply.message = dataclasses.replace(reply.message, content=reply.message.content + text)
        reply.unsaved = True
        self.changed.emit(reply.message)

    def finish(
        self, reply: Reply, state: MessageState, text: str | None = None, numbers: TurnNumbers | None = None
    ) -> None:
        """The reply ended; `text` is all that was written for it now, None for what came so far."""
        content = reply.message.content if text is None else reply.text_before + text
        reply.message = dataclasses.replace(reply.message, content=content, state=state, numbers=numbers)
        self._forget(reply)
        try:
            self._store.finish_reply(reply.message.id, content, state, numbers)
        except KnownError as error:
            self.failed.emit(str(error))
        self.changed.emit(reply.message)

    def discard(self, reply: Reply) -> None:
        """Drop a reply without a trace in the store; raises KnownError when that fails."""
        self._forget(reply)
        self._store.discard_message(reply.message.id)

    def save(self) -> None:
        """Store what grew since the last time."""
        try:
            for reply in self:
                if reply.unsaved:
                    self._store.save_partial(reply.message.id, reply.message.content)
                    reply.unsaved = False
        except KnownError as error:
            self._timer.stop()  # once is enough; the end of the reply tries again
            self.failed.emit(str(error))

    def _add(self, reply: Reply) -> Reply:
        self._running[reply.request_id] = reply
        self._timer.start()
        return reply

    def _forget(self, reply: Reply) -> None:
        self._running.pop(reply.request_id, None)
        if not self._running:
            self._timer.stop()
