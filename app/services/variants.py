"""Which replies stand side by side in each chat, until one of them is chosen.

Replies that were begun together go in; what a chat shows comes out. A choice that was not made when Weir
ends is not remembered: the replies are versions of each other like any others. Knows nothing about how a
reply is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.data.chat_store import ChatStore
from app.data.stored_message import StoredMessage

MOST_VARIANTS = 8
"""How many answers can be asked for at once."""


@dataclass(frozen=True, slots=True)
class ShownChat:
    """The branch that a chat shows; `variants` are its last message and those that stand beside it."""

    messages: tuple[StoredMessage, ...]
    variants: tuple[StoredMessage, ...] = ()


class Variants:
    """Owns, for each chat, the ids of the replies among which nobody has chosen yet."""

    def __init__(
        self, store: ChatStore, written: Callable[[Sequence[StoredMessage]], list[StoredMessage]]
    ) -> None:
        """`written`: stored messages as they are now."""
        self._store = store
        self._written = written
        self._undecided: dict[str, tuple[int, ...]] = {}

    def put(self, replies: Sequence[StoredMessage]) -> None:
        """These replies of a chat were begun together; one alone leaves nothing to choose."""
        chat_id = replies[0].chat_id
        self.settle(chat_id)
        if len(replies) > 1:
            self._undecided[chat_id] = tuple(reply.id for reply in replies)

    def settle(self, chat_id: str | None) -> None:
        """There is nothing to choose any more."""
        if chat_id is not None:
            self._undecided.pop(chat_id, None)

    def is_undecided(self, message_id: int, chat_id: str) -> bool:
        """Whether a reply is one of those among which nobody has chosen yet."""
        return message_id in self._undecided.get(chat_id, ())

    def read(self, chat_id: str) -> ShownChat:
        """What a chat shows now; raises KnownError."""
        messages = tuple(self._written(self._store.messages(chat_id)))
        if not messages or not self.is_undecided(messages[-1].id, chat_id):
            return ShownChat(messages)
        beside = self._written(self._store.some_messages(chat_id, self._undecided[chat_id]))
        return ShownChat(messages, tuple(beside) if len(beside) > 1 else ())
