"""What the model sees of a chat, told from the ledger, message by message.

Before anything of a chat is in the cache, the same selection that would fill it is asked instead.
Changes nothing; knows nothing about what a front end shows.
"""

from __future__ import annotations

from collections.abc import Sequence as Many

from engine.chat.prompt import PromptBuilder
from engine.decoding.admission import Room
from engine.decoding.selection import Selection, select
from engine.decoding.sequence import Pins, Sequence
from engine.errors import KnownError
from engine.protocol import CacheView, LookAt, Message, Role


def is_current(sequence: Sequence, messages: Many[Message]) -> bool:
    """True if the sequence holds this chat as it is: nothing was edited since, nor pinned."""
    last = max((span.message for span in sequence.ledger.spans), default=-1)
    known = all(sequence.seen.get(i) == messages[i] for i in sequence.seen if i < len(messages))
    pinned = frozenset(index for index, message in enumerate(messages) if message.pinned)
    pins = sequence.pins.accepted | sequence.pins.refused
    return last >= 0 and len(messages) - 1 <= last <= len(messages) and known and pins == pinned


def of_sequence(sequence: Sequence, chat_id: str, n_messages: int, room: Room) -> CacheView:
    """What the cells of `sequence` hold of a chat of `n_messages`."""
    ledger = sequence.ledger
    first_seen: int | None = None
    partly = False
    still_seen: list[int] = []
    in_window = True
    for number in reversed(range(len(ledger.spans))):
        span, end = ledger.spans[number], ledger.span_end(number)
        decoded_end = min(end, max(span.start, ledger.end_decoded))
        n_seen = sum(high - low for low, high in ledger.resident_in(span.start, decoded_end))
        is_whole = n_seen == decoded_end - span.start
        # Messages that were never read into this ledger have no span: the window ends there too.
        in_window = in_window and (first_seen is None or span.message == first_seen - 1)
        if in_window and n_seen and span.message >= 0:
            first_seen, partly = span.message, not is_whole
        elif span.is_sink and is_whole and span.message >= 0:
            still_seen.append(span.message)
        in_window = in_window and is_whole
    return CacheView(
        chat_id=chat_id,
        n_messages=n_messages,
        first_seen=first_seen,
        partly=partly,
        still_seen=tuple(sorted(still_seen)),
        refused_pins=tuple(sorted(sequence.pins.refused)),
        n_sinks=(occupancy := sequence.occupancy(room.capacity, room.policy.n_sinks)).sinks,
        n_window=occupancy.resident - occupancy.sinks,
        n_cells=room.capacity,
        is_forecast=False,
    )


def forecast(question: LookAt, prompts: PromptBuilder, room: Room) -> CacheView:
    """What the next message of a chat will show to the model, as far as it is known without it."""
    messages = question.messages
    is_answered = not messages or messages[-1].role is not Role.USER
    coming = (*messages, Message(Role.USER, "?")) if is_answered else messages
    try:
        chosen = select(coming, prompts, room.capacity, room.reserve, room.policy)
    except KnownError:  # it will be refused as it is: nothing of it is seen
        chosen = Selection([], [], Pins(), 0)
    known = [part for part in chosen.parts if part.message < len(messages)]
    indexes = {part.message for part in known if part.message >= 0}
    first_seen = len(messages)
    while first_seen - 1 in indexes:
        first_seen -= 1
    return CacheView(
        chat_id=question.chat_id,
        n_messages=len(messages),
        first_seen=first_seen if first_seen < len(messages) else None,
        partly=False,
        still_seen=tuple(sorted(index for index in indexes if index < first_seen)),
        refused_pins=tuple(sorted(chosen.pins.refused)),
        n_sinks=chosen.n_sinks,
        n_window=sum(len(part.ids) for part in known) - chosen.n_sinks,
        n_cells=room.capacity,
        is_forecast=True,
    )
