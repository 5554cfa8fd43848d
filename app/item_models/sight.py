"""What the model sees of a chat, in terms of the messages that a person sees.

Ids of stored messages; values only. Knows nothing about tokens, caches or how it is shown.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Presence(enum.Enum):
    """What the model has of one message."""

    SEEN = enum.auto()
    PARTLY_SEEN = enum.auto()  # its beginning is no longer seen
    STILL_SEEN = enum.auto()  # stands above the line, and stays
    UNSEEN = enum.auto()


@dataclass(frozen=True, slots=True)
class Sight:
    """Where the line stands above which the model does not see.

    It stands above the first message whose id is at least `line_at`; None is no line. `n_unseen` of
    the `n_above` messages above it are not seen. `still_seen` are those above it that are. `partly`
    is the message that has lost its beginning. `refused_pins` do not fit. With `is_forecast` all of
    it is what the next message will make.
    """

    line_at: int | None = None
    n_unseen: int = 0
    n_above: int = 0
    still_seen: frozenset[int] = frozenset()
    partly: int | None = None
    refused_pins: frozenset[int] = frozenset()
    is_forecast: bool = False

    def presence_of(self, message_id: int) -> Presence:
        """What the model has of a message of the chat."""
        if message_id == self.partly:
            return Presence.PARTLY_SEEN
        if self.line_at is None or message_id >= self.line_at:
            return Presence.SEEN
        return Presence.STILL_SEEN if message_id in self.still_seen else Presence.UNSEEN
