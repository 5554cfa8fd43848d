"""Reasons: why tokens that the cache had held are read again, in words for a person.

Asked by admission, before it changes anything. Knows the chat and what stands in the ledger; not what
is evicted or chosen.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass

from engine.decoding.sequence import Sequence
from engine.protocol import Message, Role


@dataclass(frozen=True, slots=True)
class Reasons:
    """The reasons of one admission; `n_asked`: how many of `messages` stand before the reply."""

    sequence: Sequence
    messages: Many[Message]
    n_asked: int

    def nothing_known(self) -> str | None:
        """Why not one message of the ledger stays; None where none was to be expected."""
        if not len(self.sequence.ledger):
            is_first = len(self.messages) <= 2 and self.n_asked == len(self.messages)
            return None if is_first else "the chat was not in the cache"
        first = self.sequence.seen.get(0)
        if Role.SYSTEM in (self.messages[0].role, first and first.role):
            return "edited the system prompt"
        return None if self._is_only_message(0) else self._edited(0)

    def lost(self, first: int) -> str:
        """Why the messages from `first` on cannot follow what is in the cache."""
        return f"{self._edited(first)}, and what came before it had left the cache"

    def shortened(self, cut: int, first: int) -> str | None:
        """Why decoded tokens from offset `cut` on are given up for the messages from `first` on.

        None where no tokens but the new message's own are read, or for a reply made again.
        """
        if cut >= self.sequence.ledger.end_decoded - 1 or first >= len(self.messages):
            return None
        if first not in self.sequence.seen:
            return f"template differs at token {cut}"
        return None if self._is_only_message(first) else self._edited(first)

    def pinned(self, index: int) -> str:
        """Why a pin has to be read again."""
        return f"message {self._number(index)} was pinned"

    def _is_only_message(self, first: int) -> bool:
        """True if only the message to answer comes from `first` on."""
        return first == self.n_asked - 1 == len(self.messages) - 1

    def _edited(self, index: int) -> str:
        return f"edited message {self._number(index)}"

    def _number(self, index: int) -> int:
        """The message's number as a person counts: from 1, without the system prompt."""
        return index + (self.messages[0].role is not Role.SYSTEM)
