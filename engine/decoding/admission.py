"""Admission: how a chat becomes the tokens that a sequence still has to decode.

The new prompt is compared with the ledger by token ids. Either the ledger is extended (the usual
turn: what is resident stays, what is new is queued), or it is built anew from the system prompt and
the newest turns that fit, reusing the cells whose ids are the same from the beginning. Messages
that stand in the ledger unchanged keep their ids: a reply is never tokenized again, so its cells
are never lost to a different tokenization of its text.

Works on one sequence; knows nothing about other sequences, batches or events.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

from engine.chat.prompt import PREAMBLE, Part, PromptBuilder
from engine.decoding.kv_window import Occupancy, plan_eviction
from engine.decoding.ledger import Interval, Span
from engine.decoding.sequence import Sequence
from engine.errors import BadRequest, PromptTooLong
from engine.protocol import Message, Role


@dataclass(frozen=True, slots=True)
class Room:
    """What a sequence may use: `capacity` cells; whether its cache can drop its middle."""

    capacity: int
    can_evict: bool

    @property
    def reserve(self) -> int:
        """Cells that a prompt must leave for its reply."""
        return max(1, min(32, self.capacity // 8))


def admit(sequence: Sequence, messages: Many[Message], prompts: PromptBuilder, room: Room) -> int:
    """Queue what `sequence` has to decode to answer `messages`; returns the evicted token count.

    Afterwards at least one token is pending, and all pending ones fit.

    Raises PromptTooLong if the system prompt or the last message cannot fit, TemplateError if the
    template refuses the chat, BadRequest if there is nothing to answer. The sequence is unchanged
    then.
    """
    if not messages or messages[-1].role is not Role.USER or not messages[-1].content.strip():
        raise BadRequest("There is no message to answer: write one first.")
    extended = _extend(sequence, messages, prompts, room)
    return _rebuild(sequence, messages, prompts, room) if extended is None else extended


# --- the usual turn -------------------------------------------------------------------------------


def _extend(sequence: Sequence, messages: Many[Message], prompts: PromptBuilder, room: Room) -> int | None:
    """Keep what is resident and append what is new; None if the ledger has to be built anew."""
    ledger = sequence.ledger
    matched = _matching_spans(sequence, messages)
    first = ledger.spans[matched - 1].message + 1 if matched else 0
    known_end = ledger.span_end(matched - 1) if matched else 0
    if not first or (sequence.n_skipped and known_end <= _window_start(sequence)):
        return None  # what comes before the change was evicted: the newest turns that fit come back
    parts = prompts.rest(messages, first)
    # The ledger's last reply is still open: what closes a turn was never sampled.
    is_open = messages[first - 1].role is Role.ASSISTANT and known_end == len(ledger)
    closing = prompts.closing if is_open else []
    ids = [*closing, *chain.from_iterable(part.ids for part in parts)]
    cut = known_end + min(ledger.common_prefix(known_end, ids), len(ids) - 1)
    undecoded = min(cut, ledger.end_decoded)
    n_coming = known_end + len(ids) - undecoded
    question = ledger.spans[matched - 1].start if first == len(messages) else known_end
    if _size(ledger.resident_in(question, undecoded)) < undecoded - question:
        return None  # the message to answer has lost its own beginning to a long reply
    occupancy = _occupancy_before(sequence, cut, room, begins_turn=first < len(messages))
    if occupancy.sinks + n_coming + room.reserve > room.capacity:
        return None
    plan = plan_eviction(occupancy, n_coming + room.reserve)
    if (plan and not room.can_evict) or not sequence.truncate(cut) or not sequence.evict(plan):
        return None
    ledger.append(ids[cut - known_end :])
    _record(sequence, matched, known_end + len(closing), parts, messages)
    sequence.pending = [(undecoded, len(ledger))]
    return _size(plan)


def _matching_spans(sequence: Sequence, messages: Many[Message]) -> int:
    """How many spans from the beginning are those of `messages`, unchanged."""
    for count, span in enumerate(sequence.ledger.spans):
        if span.message == PREAMBLE:
            matches = messages[0].role is not Role.SYSTEM
        else:
            matches = (
                span.message < len(messages) and sequence.seen.get(span.message) == messages[span.message]
            )
        if not matches:
            return count
    return len(sequence.ledger.spans)


def _window_start(sequence: Sequence) -> int:
    """Offset of the first resident token behind the gap that eviction left."""
    runs = sequence.ledger.runs
    gaps = [run.start for before, run in pairwise(runs) if before.end < run.start]
    return gaps[-1] if gaps else sequence.ledger.end_decoded


def _occupancy_before(sequence: Sequence, cut: int, room: Room, begins_turn: bool) -> Occupancy:
    """The occupancy as it will be after truncation at `cut`; an empty last turn stands for a new one."""
    now = sequence.occupancy(room.capacity)
    turns = [(start, min(end, cut)) for start, end in now.turns if start < cut]
    return Occupancy(now.capacity, now.sinks, [*turns, (cut, cut)] if begins_turn or not turns else turns)


def _record(sequence: Sequence, matched: int, start: int, parts: Many[Part], messages: Many[Message]) -> None:
    """Write down whose tokens stand where from span `matched` on."""
    spans, first = sequence.ledger.spans, parts[0].message
    del spans[matched:]
    sequence.seen = {index: message for index, message in sequence.seen.items() if index < first}
    for part in parts:
        spans.append(_span(start, part, messages))
        start += len(part.ids)
        if 0 <= part.message < len(messages):
            sequence.seen[part.message] = messages[part.message]


def _span(start: int, part: Part, messages: Many[Message]) -> Span:
    role = messages[part.message].role if 0 <= part.message < len(messages) else None
    is_sink = part.message == PREAMBLE or role is Role.SYSTEM
    return Span(start, part.message, is_sink, starts_turn=role is Role.USER)


# --- anew -----------------------------------------------------------------------------------------


def _rebuild(sequence: Sequence, messages: Many[Message], prompts: PromptBuilder, room: Room) -> int:
    """Read the system prompt and the newest turns that fit; returns how much had to be left out."""
    parts = _newest_parts(messages, prompts, room)
    sinks = [part for part in parts if _span(0, part, messages).is_sink]
    turns = _turns(parts[len(sinks) :], messages)
    n_sinks, n_current = _count(sinks), _count(turns[-1])
    _require_fit(n_sinks, n_current, room)
    bounds = list(accumulate(map(_count, turns[:-1]), initial=0))
    older = list(pairwise(bounds))
    plan = plan_eviction(
        Occupancy(room.capacity, n_sinks, [*older, (bounds[-1], bounds[-1])]), n_current + room.reserve
    )
    kept = [*sinks, *chain.from_iterable(turns[len(plan) :])]
    was_empty = not len(sequence.ledger)
    sequence.restart([token for part in kept for token in part.ids])
    _record(sequence, 0, 0, kept, messages)
    return 0 if was_empty else _size(plan)


def _newest_parts(messages: Many[Message], prompts: PromptBuilder, room: Room) -> list[Part]:
    """Parts of the system prompt and of at least as many of the newest turns as fit."""
    first, n_tokens = len(messages) - 1, 0
    while first > 0 and n_tokens <= room.capacity:
        first -= 1
        n_tokens += prompts.count(messages[first])
    has_system = messages[0].role is Role.SYSTEM
    while first < len(messages) - 1 and messages[first].role is not Role.USER:
        first += 1
    shown = [messages[0], *messages[max(first, 1) :]] if has_system else messages[first:]
    skipped = len(messages) - len(shown)
    return [
        Part(part.message + skipped if part.message >= has_system else part.message, part.ids)
        for part in prompts.whole(shown)
    ]


def _turns(parts: Many[Part], messages: Many[Message]) -> list[list[Part]]:
    """Parts grouped by turn; the last group is the message to answer and the reply's opening."""
    turns: list[list[Part]] = [[]]
    for part in parts:
        if turns[-1] and _span(0, part, messages).starts_turn:
            turns.append([])
        turns[-1].append(part)
    return turns


def _require_fit(n_sinks: int, n_current: int, room: Room) -> None:
    if n_sinks + room.reserve >= room.capacity:
        raise PromptTooLong("The system prompt", n_sinks, room.capacity - room.reserve - 1)
    if n_sinks + n_current + room.reserve > room.capacity:
        raise PromptTooLong("Your message", n_current, room.capacity - room.reserve - n_sinks)


def _count(parts: Many[Part]) -> int:
    return sum(len(part.ids) for part in parts)


def _size(intervals: Many[Interval]) -> int:
    return sum(end - start for start, end in intervals)
