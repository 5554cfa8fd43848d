"""How much of a chat a sequence already has, told by its messages.

A ledger's span matches as long as its message, and all before it, are unchanged. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence as Many

from engine.chat.prompt import PREAMBLE
from engine.decoding.sequence import Sequence
from engine.protocol import Message, Role


def n_asked(messages: Many[Message]) -> int:
    """Messages before the reply, and so its index."""
    return len(messages) - (messages[-1].role is Role.ASSISTANT)


def matching_spans(sequence: Sequence, messages: Many[Message]) -> int:
    """How many spans from the beginning are those of the messages, unchanged."""
    for count, span in enumerate(sequence.ledger.spans):
        if span.message == PREAMBLE:
            matches = messages[0].role is not Role.SYSTEM
        else:
            is_there = span.message < len(messages)
            matches = is_there and sequence.seen.get(span.message) == messages[span.message]
            matches = matches and _can_follow(sequence, count, n_asked(messages))
        if not matches:
            return count
    return len(sequence.ledger.spans)


def matching_tokens(sequence: Sequence, messages: Many[Message]) -> tuple[int, int]:
    """Tokens of what matches: those in the cache, and those that are still to be evaluated."""
    count = matching_spans(sequence, messages) if messages else 0
    if not count:
        return 0, 0
    end = sequence.ledger.span_end(count - 1)
    n_pending = sum(max(0, min(high, end) - low) for low, high in sequence.pending)
    return sequence.ledger.n_resident_in(0, end), n_pending


def _can_follow(sequence: Sequence, number: int, n_asked: int) -> bool:
    """True if what comes next may stand behind the tokens of span `number`."""
    spans = sequence.ledger.spans
    if spans[number].message < n_asked:  # a turn is not closed in the middle of a character
        return not sequence.half_character or number < len(spans) - 1
    # What was rendered as a whole was closed, and perhaps changed, by the template.
    return spans[number].text_end is not None
