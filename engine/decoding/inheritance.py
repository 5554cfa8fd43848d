"""Cells that a request need not evaluate, because another sequence has them, or the shelf.

Variants of a reply, branches and chats with one system prompt begin alike: whoever comes later becomes a
copy of the sequence that agrees with its messages the farthest, and admission goes on from there as from
cells of its own. Decided by messages, carried out by cells: nothing is tokenized for it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence as Many

from engine.decoding.matching import matching_tokens
from engine.decoding.pool import SequencePool
from engine.decoding.sequence import Sequence
from engine.protocol import Generate, Message, chat_of_variant

_WORTH_COPYING = 8  # tokens; fewer are evaluated in the batch that the others need anyway
_WORTH_WAITING = 32


class Origin(enum.Enum):
    """Where a sequence has the cells from that it goes on with."""

    OWN = enum.auto()
    VARIANT = enum.auto()  # of the same chat
    OTHER_CHAT = enum.auto()
    RESTORED = enum.auto()

    @property
    def is_shared(self) -> bool:
        """True if another sequence has them too."""
        return self in (Origin.VARIANT, Origin.OTHER_CHAT)


def is_being_evaluated(pool: SequencePool, request: Generate) -> bool:
    """True while another reply evaluates what `request` begins with too: then it waits, and shares it."""
    replies = (sequence for sequence in pool.active if sequence.chat_id != request.chat_id)
    pending = (matching_tokens(sequence, request.messages)[1] for sequence in replies)
    return any(n_pending >= _WORTH_WAITING for n_pending in pending)


def inherit(pool: SequencePool, sequence: Sequence, messages: Many[Message]) -> Origin:
    """Give `sequence` the most cells that are to be had for `messages`; what it has itself counts first."""
    if not messages:
        return Origin.OWN
    is_restored = not sequence.ledger.n_resident and pool.fetch(sequence)
    n_own, _pending = matching_tokens(sequence, messages)
    others = [other for other in pool.sequences if other is not sequence and pool.can_share]
    agreeing = [(matching_tokens(other, messages)[0], other) for other in others]
    n_best, best = max(agreeing, key=lambda pair: pair[0], default=(0, sequence))
    if n_best >= n_own + _WORTH_COPYING:
        sequence.copy(best)
        is_variant = chat_of_variant(best.chat_id) == chat_of_variant(sequence.chat_id)
        return Origin.VARIANT if is_variant else Origin.OTHER_CHAT
    return Origin.RESTORED if is_restored else Origin.OWN
