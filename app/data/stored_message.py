"""Chats and messages as values: what the store gives out and takes in.

Rows of the database go in, frozen values come out, and back. Knows nothing about connections.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from app.data.chat_options import ChatOptions
from engine.protocol import FinishReason, Role

MESSAGE_COLUMNS = (
    "id, chat_id, role, content, state, created_at, model, pinned, parent_id,"
    " tokens_generated, decode_tps, ttft_ms, prefill_tps, finish_reason, reevaluated_because, thinking_ms,"
    " tokens_restored, tokens_shared, tokens_drafted, tokens_accepted, draft_gain"
)
"""What `message_of` wants of a row, in this order."""

_REASONS = {reason.value: reason for reason in FinishReason}


class MessageState(enum.StrEnum):
    """How far a message got."""

    COMPLETE = "complete"
    STREAMING = "streaming"  # being written by a process that still runs
    INTERRUPTED = "interrupted"  # stopped, or its process died; the text so far is kept


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """A chat without its messages. Times are Unix seconds; `id` is a UUID in hex.

    A `pinned` chat stands above all others.
    """

    id: str
    title: str
    created_at: float
    updated_at: float
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with a user's message: its name, without folders, and the text read from it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnNumbers:
    """What one reply measured (see `engine.protocol.TurnStats`); None where there is nothing to divide.

    `reevaluated_because` says why tokens were read again, None if none were. `thinking_ms`: how long the
    model thought before it answered, None if it did not. Counts that a former Weir did not take are 0.
    """

    tokens_generated: int
    decode_tps: float | None
    ttft_ms: float | None
    prefill_tps: float | None
    finish_reason: FinishReason | None = None
    reevaluated_because: str | None = None
    thinking_ms: float | None = None
    tokens_restored: int = 0
    tokens_shared: int = 0
    tokens_drafted: int = 0
    tokens_accepted: int = 0
    draft_gain: float | None = None

    def followed_by(self, later: TurnNumbers) -> TurnNumbers:
        """The numbers of a reply that was interrupted after these, and went on with `later`."""
        seconds = [
            (n.tokens_generated - 1) / n.decode_tps
            for n in (self, later)
            if n.decode_tps and n.tokens_generated > 1
        ]
        n_tokens = self.tokens_generated + later.tokens_generated
        return TurnNumbers(
            n_tokens,
            (n_tokens - len(seconds)) / sum(seconds) if seconds else None,
            self.ttft_ms,
            self.prefill_tps,
            later.finish_reason,
            later.reevaluated_because or self.reevaluated_because,
            self.thinking_ms if later.thinking_ms is None else later.thinking_ms,
            tokens_restored=self.tokens_restored,
            tokens_shared=self.tokens_shared,
            tokens_drafted=self.tokens_drafted + later.tokens_drafted,
            tokens_accepted=self.tokens_accepted + later.tokens_accepted,
            draft_gain=self._gain_with(later),
        )

    def _gain_with(self, later: TurnNumbers) -> float | None:
        """The gain over both: by the time that each took, and would have taken without drafts."""
        if not (self.decode_tps and later.decode_tps):
            return later.draft_gain if self.draft_gain is None else self.draft_gain
        if self.draft_gain is None and later.draft_gain is None:
            return None
        took, then_took = self.tokens_generated / self.decode_tps, later.tokens_generated / later.decode_tps
        plain = took * (self.draft_gain or 1.0) + then_took * (later.draft_gain or 1.0)
        return plain / (took + then_took) if took + then_took else None


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it is stored; `created_at` in Unix seconds, `model` and `numbers` of replies only.

    A `pinned` message shall stay in the model's view however long the chat gets. The messages of a chat are
    a tree: `parent_id` is the message that this one follows, None for a first one; those with the same
    parent are versions of each other, and this is number `version` of `n_versions`, from 1, by age.
    """

    id: int
    chat_id: str
    role: Role
    content: str
    state: MessageState
    created_at: float
    model: str | None = None
    numbers: TurnNumbers | None = None
    pinned: bool = False
    attachments: tuple[Attachment, ...] = ()
    parent_id: int | None = None
    version: int = 1
    n_versions: int = 1


@dataclass(frozen=True, slots=True)
class WholeChat:
    """A chat with everything that is in it: `messages` of all its branches, oldest first.

    `head_id` is the last message of the branch that is shown; ids hold within this value only.
    """

    summary: ChatSummary
    options: ChatOptions
    head_id: int | None
    messages: tuple[StoredMessage, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A place that a search found: in the title of a chat (`message_id` None) or in one of its messages.

    `excerpt` is the text around it in one line; `marks` are the places [start, end) in it that match.
    """

    chat: ChatSummary
    message_id: int | None
    excerpt: str
    marks: tuple[tuple[int, int], ...]


def columns_of(numbers: TurnNumbers | None) -> tuple[int | float | str | None, ...]:
    """The columns of MESSAGE_COLUMNS from `tokens_generated` on."""
    if numbers is None:
        return (*(None,) * 7, *(0,) * 4, None)
    return (
        *(numbers.tokens_generated, numbers.decode_tps, numbers.ttft_ms, numbers.prefill_tps),
        *(numbers.finish_reason, numbers.reevaluated_because, numbers.thinking_ms),
        *(numbers.tokens_restored, numbers.tokens_shared, numbers.tokens_drafted, numbers.tokens_accepted),
        numbers.draft_gain,
    )


def message_of(
    row: tuple[Any, ...],
    attachments: tuple[Attachment, ...] = (),
    version: int = 1,
    n_versions: int = 1,
) -> StoredMessage:
    """The message of a row of MESSAGE_COLUMNS."""
    message_id, chat_id, role, content, state, created_at, model, pinned, parent_id, *measured = row
    return StoredMessage(
        *(message_id, chat_id, Role(role), content, MessageState(state), created_at, model),
        numbers=_numbers_of(measured),
        pinned=bool(pinned),
        attachments=attachments,
        parent_id=parent_id,
        version=version,
        n_versions=n_versions,
    )


def _numbers_of(measured: list[Any]) -> TurnNumbers | None:
    tokens_generated, decode_tps, ttft_ms, prefill_tps, reason, because, thinking_ms, *counts, gain = measured
    if tokens_generated is None:
        return None
    known = _REASONS.get(reason)  # a newer Weir may know more
    return TurnNumbers(
        *(tokens_generated, decode_tps, ttft_ms, prefill_tps, known, because, thinking_ms),
        *(*counts, gain),
    )
