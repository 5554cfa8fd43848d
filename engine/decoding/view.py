"""What the model sees of a chat, told from the ledger, message by message.

Before anything of a chat is in the cache, the same selection that would fill it is asked instead.
Changes nothing; knows nothing about what a front end shows.
"""

from __future__ import annotations

from collections.abc import Sequence as Many

from engine.chat.prompt import PREAMBLE, PromptBuilder
from engine.decoding.room import Room
from engine.decoding.selection import Selection, select
from engine.decoding.sequence import Pins, Sequence
from engine.errors import KnownError, PromptTooLong
from engine.protocol import CacheView, LookAt, Message, Policy, Role

_NEXT = Message(Role.USER, "?")  # stands for a message that is not written yet


def is_current(sequence: Sequence, messages: Many[Message]) -> bool:
    """True if the sequence holds this chat as it is: nothing was edited since, nor pinned."""
    last = max((span.message for span in sequence.ledger.spans), default=-1)
    known = all(sequence.seen.get(i) == messages[i] for i in sequence.seen if i < len(messages))
    pinned = frozenset(index for index, message in enumerate(messages) if message.pinned)
    pins = sequence.pins.accepted | sequence.pins.refused
    return last >= 0 and len(messages) - 1 <= last <= len(messages) and known and pins == pinned


def of_sequence(
    sequence: Sequence, chat_id: str, n_messages: int, prompts: PromptBuilder, room: Room
) -> CacheView:
    """What the cells of `sequence` hold of a chat of `n_messages`."""
    first_seen, partly, still_seen = _seen(sequence)
    occupancy = sequence.occupancy(room.capacity, room.policy.n_sinks)
    n_system, n_pinned = _sinks(sequence)
    n_staying = n_system + n_pinned
    if room.policy.policy is Policy.STOP:
        n_unread = len(sequence.ledger) - sequence.ledger.end_decoded
        n_staying = occupancy.resident + n_unread + len(prompts.closing)
    return CacheView(
        chat_id=chat_id,
        n_messages=n_messages,
        first_seen=first_seen,
        partly=partly,
        still_seen=still_seen,
        refused_pins=tuple(sorted(sequence.pins.refused)),
        n_sinks=occupancy.sinks,
        n_window=occupancy.resident - occupancy.sinks,
        n_cells=room.capacity,
        is_forecast=False,
        n_system=n_system,
        n_pinned=n_pinned,
        n_chat=_chat_size(sequence, n_messages),
        n_room=_message_room(room, n_staying, prompts.n_around),
    )


def _seen(sequence: Sequence) -> tuple[int | None, bool, tuple[int, ...]]:
    """`first_seen`, `partly` and `still_seen` of the view."""
    ledger = sequence.ledger
    first_seen: int | None = None
    partly = False
    still_seen: list[int] = []
    in_window = True
    for number in reversed(range(len(ledger.spans))):
        span, is_whole = ledger.spans[number], ledger.is_whole(number)
        # Of a reply that has left, what closes it may be there: that says nothing.
        n_seen = ledger.n_resident_in(span.start, span.text_end or ledger.span_end(number))
        # Messages that were never read into this ledger have no span: the window ends there too.
        in_window = in_window and (first_seen is None or span.message == first_seen - 1)
        if in_window and n_seen and span.message >= 0:
            first_seen, partly = span.message, not is_whole
        elif span.is_sink and is_whole and span.message >= 0:
            still_seen.append(span.message)
        in_window = in_window and is_whole
    return first_seen, partly, tuple(sorted(still_seen))


def _sinks(sequence: Sequence) -> tuple[int, int]:
    """Tokens of the system prompt and of pinned messages that stay."""
    ledger, n_system, n_pinned = sequence.ledger, 0, 0
    for number, span in enumerate(ledger.spans):
        if not span.is_sink:
            continue
        first = sequence.seen.get(0)
        is_system = span.message == PREAMBLE or (
            span.message == 0 and first is not None and first.role is Role.SYSTEM
        )
        n_system += ledger.size_of(number) * is_system
        n_pinned += ledger.size_of(number) * (not is_system)
    return n_system, n_pinned


def _chat_size(sequence: Sequence, n_messages: int) -> int | None:
    """Tokens of all that was read, None if some messages were never read into this ledger.

    What waits to be decoded is not among them: else it would look as if it had been evicted.
    """
    spans = {span.message for span in sequence.ledger.spans}
    return sequence.ledger.end_decoded if spans >= set(range(n_messages)) else None


def _message_room(room: Room, n_staying: int, n_around: int | None) -> int | None:
    """The longest message that admission takes beside what stays, in tokens of its text."""
    if room.policy.n_sinks > room.max_sinks:
        return 0
    return None if n_around is None else max(0, room.free_beside(n_staying) - n_around)


def forecast(question: LookAt, prompts: PromptBuilder, room: Room) -> CacheView:
    """What the next message of a chat will show to the model, as far as it is known without it."""
    messages = question.messages
    is_answered = not messages or messages[-1].role is not Role.USER
    known = messages if is_answered else messages[:-1]
    chosen_next, n_room = _choose_next(known, prompts, room)
    chosen = chosen_next if is_answered else _choose(messages, prompts, room)
    first_seen, partly = _seen_first(chosen, len(messages))
    n_read = {index: n for index, n in chosen.n_read.items() if index < len(messages)}
    sizes = {part.message: len(part.ids) for part in (*chosen.parts, *chosen.left_out)}
    known_sizes = [size for index, size in sizes.items() if index < len(messages)]
    n_pinned = sum(n_read[index] for index in chosen.pins.accepted)
    return CacheView(
        chat_id=question.chat_id,
        n_messages=len(messages),
        first_seen=first_seen if first_seen < len(messages) else None,
        partly=partly,
        still_seen=tuple(sorted(index for index in chosen.sinks if 0 <= index < first_seen)),
        refused_pins=tuple(sorted(chosen.pins.refused)),
        n_sinks=chosen.n_sinks,
        n_window=sum(n_read.values()) - chosen.n_sinks,
        n_cells=room.capacity,
        is_forecast=True,
        n_system=chosen.n_sinks - n_pinned,
        n_pinned=n_pinned,
        n_chat=sum(known_sizes) if sizes.keys() >= set(range(len(messages))) else None,
        n_room=n_room,
    )


def _seen_first(chosen: Selection, n_messages: int) -> tuple[int, bool]:
    """The first of the messages that are chosen together with all after them, and if it is cut."""
    sizes = {part.message: len(part.ids) for part in chosen.parts}
    n_read = chosen.n_read
    first_seen = n_messages
    while first_seen > 0 and n_read.get(first_seen - 1):
        first_seen -= 1
        if n_read[first_seen] < sizes[first_seen]:
            return first_seen, True
    return first_seen, False


def _choose(messages: Many[Message], prompts: PromptBuilder, room: Room) -> Selection:
    """What will be chosen of a chat; nothing if it will be refused as it is."""
    try:
        return select(messages, prompts, room)
    except KnownError:
        return Selection([], [], Pins(), frozenset())


def _choose_next(messages: Many[Message], prompts: PromptBuilder, room: Room) -> tuple[Selection, int | None]:
    """What will be chosen with a next message, and how long that may be."""
    try:
        chosen = select((*messages, _NEXT), prompts, room)
    except PromptTooLong:  # what must stay leaves no room even for a word
        return Selection([], [], Pins(), frozenset()), 0
    except KnownError:
        return Selection([], [], Pins(), frozenset()), None
    n_next = sum(len(part.ids) for part in chosen.parts if part.message >= len(messages))
    n_staying = chosen.n_sinks
    if room.policy.policy is Policy.STOP:
        n_staying = sum(len(part.ids) for part in (*chosen.parts, *chosen.left_out)) - n_next
    return chosen, _message_room(room, n_staying, n_next - prompts.count(_NEXT))
