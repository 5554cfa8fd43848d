"""Admission: how a chat becomes the tokens that a sequence still has to decode.

The new prompt is compared with the ledger by token ids. Either the ledger is extended (the usual
turn: what is resident stays, what is new is queued), or it is built anew from the sinks and the
newest turns that fit, the oldest of them perhaps without its beginning, reusing the cells whose ids
are the same from the beginning. Messages
that stand in the ledger unchanged keep their ids: a reply is never tokenized again, so its cells
are never lost to a different tokenization of its text. A reply that is to be gone on with is gone on
with from its own ids too, as if it had never been stopped.

Works on one sequence; knows nothing about other sequences, batches or events.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from itertools import chain

from engine.chat.prompt import PREAMBLE, Part, PromptBuilder
from engine.decoding.kv_window import Occupancy, plan_eviction
from engine.decoding.ledger import Interval, Span
from engine.decoding.matching import matching_spans, n_asked
from engine.decoding.reasons import Reasons
from engine.decoding.room import Room
from engine.decoding.selection import Selection, select
from engine.decoding.sequence import Pins, Sequence
from engine.errors import BadRequest, ContextFull
from engine.protocol import Message, Policy, Role


@dataclass(frozen=True, slots=True)
class Admitted:
    """`evicted` tokens left the cache; `reason` says why tokens are read again, None if none are.

    `half_character`: what the tokens that the reply goes on from say behind its text.
    """

    evicted: int
    reason: str | None
    half_character: bytes = b""


def admit(sequence: Sequence, messages: Many[Message], prompts: PromptBuilder, room: Room) -> Admitted:
    """Queue what `sequence` has to decode to answer `messages`.

    Afterwards at least one token is pending, and all pending ones fit, but for the one from which a
    reply goes on: room for that is made as it would have been without the stop.

    Raises PromptTooLong if the system prompt or the last message cannot fit, ContextFull if nothing
    may be evicted for it, TemplateError if the template refuses the chat, BadRequest if there is
    nothing to answer or the sinks would fill half of the context. The sequence is unchanged then.
    """
    if not _is_answerable(messages):
        raise BadRequest("There is no message to answer: write one first.")
    if room.policy.n_sinks > room.max_sinks:
        raise BadRequest(
            f"The first {room.policy.n_sinks:,} tokens cannot all stay: sinks may take half of the "
            f"context, here {room.max_sinks:,} tokens."
        )
    return _Admission(sequence, messages, prompts, room).carry_out()


def _is_answerable(messages: Many[Message]) -> bool:
    """True for a chat that ends with a message of the user's, or with a reply to one."""
    if not messages or messages[-1].role is Role.SYSTEM:
        return False
    if messages[-1].role is Role.USER:
        return bool(messages[-1].content.strip())
    return any(message.role is Role.USER for message in messages) and bool(messages[-1].content)


class _Admission:
    """One `admit`, with what its steps share."""

    def __init__(
        self, sequence: Sequence, messages: Many[Message], prompts: PromptBuilder, room: Room
    ) -> None:
        self.sequence = sequence
        self.ledger = sequence.ledger
        self.messages = messages
        self.prompts = prompts
        self.room = room
        self.n_asked = n_asked(messages)
        self.reasons = Reasons(sequence, messages, self.n_asked)
        self.matched = matching_spans(sequence, messages)

    def carry_out(self) -> Admitted:
        outcome = self._extend()
        return outcome if isinstance(outcome, Admitted) else self._rebuild(outcome)

    # --- the usual turn ---

    def _extend(self) -> Admitted | str | None:
        """Keep what is resident and append what is new; else why the ledger has to be built anew."""
        first = self.ledger.spans[self.matched - 1].message + 1 if self.matched else 0
        if not first:
            return self.reasons.nothing_known()
        text_end = self.ledger.spans[self.matched - 1].text_end if first > self.n_asked else None
        known_end = text_end or self.ledger.span_end(self.matched - 1)
        if self.sequence.n_skipped and known_end <= self.ledger.window_start:
            return "what the reply goes on from had left the cache" if text_end else self.reasons.lost(first)
        pins = self._pins(min(first, self.n_asked))
        if isinstance(pins, str):
            return pins
        return self._go_on(text_end, pins) if text_end else self._append(first, known_end, pins)

    def _go_on(self, text_end: int, pins: Pins) -> Admitted | str | None:
        """Go on from the last token of the reply as it was chosen; else why that cannot be."""
        ledger, reply = self.ledger, self.ledger.spans[self.matched - 1]
        last = text_end - 1  # evaluated again if it was evaluated: its logits are needed
        undecoded = min(last, ledger.end_decoded)
        occupancy = self._occupancy_before(reply.start, last, pins)
        n_coming = text_end - undecoded
        if occupancy.sinks + n_coming > self.room.capacity:
            return None
        if self.room.policy.policy is Policy.STOP and occupancy.resident + n_coming > self.room.capacity:
            raise ContextFull(len(self.messages), self.room.capacity)
        token = ledger.ids[last]
        half_character = self.sequence.half_character if self.matched == len(ledger.spans) else b""
        if not self.sequence.truncate(last):
            return "model cannot shift"
        ledger.append([token])
        self.matched -= 1  # the reply's span is written anew, as one that still grows
        self._record(reply.start, [Part(reply.message, [token])], pins)
        self.sequence.pending = [(undecoded, len(ledger))]
        return Admitted(0, None, half_character)

    def _append(self, first: int, known_end: int, pins: Pins) -> Admitted | str | None:
        """Append the messages from `first` on behind `known_end`; else why that cannot be."""
        ledger, messages = self.ledger, self.messages
        parts = self.prompts.rest(messages, first)
        # The ledger's last reply is still open: what closes a turn was never sampled.
        is_open = messages[first - 1].role is Role.ASSISTANT and known_end == len(ledger)
        closing = self.prompts.closing if is_open else []
        ids = [*closing, *chain.from_iterable(part.ids for part in parts)]
        cut = known_end + min(ledger.common_prefix(known_end, ids), len(ids) - 1)
        undecoded = min(cut, ledger.end_decoded)
        is_new = first < self.n_asked
        begins_at = known_end + len(closing) if is_new else ledger.spans[self.matched - 1].start
        occupancy = self._occupancy_before(begins_at, cut, pins)
        n_coming = known_end + len(ids) - undecoded
        if occupancy.sinks + occupancy.current + n_coming + self.room.reserve > self.room.capacity:
            return None  # a new choice of turns may fit, or tells what does not
        plan = self._plan(occupancy, n_coming)
        obstacle = self._obstacle(begins_at, undecoded, plan)
        if obstacle:
            return obstacle
        reason = None if cut == known_end + len(ids) - 1 else self.reasons.shortened(cut, first)
        if not self.sequence.truncate(cut) or not self.sequence.evict(plan):
            return "model cannot shift"
        ledger.append(ids[cut - known_end :])
        self._record(known_end + len(closing), parts, pins)
        # What was not decoded yet of a turn that leaves now leaves with it: alone it would say nothing.
        is_orphan = ledger.end_decoded < undecoded
        self.sequence.pending = [(max(begins_at, undecoded) if is_orphan else undecoded, len(ledger))]
        return Admitted(_size(plan), reason)

    def _obstacle(self, begins_at: int, undecoded: int, plan: Many[Interval]) -> str | None:
        """What stands against going on from the cells that are there."""
        if self.ledger.n_resident_in(begins_at, undecoded) < undecoded - begins_at:
            return "the message to answer had lost its beginning to a long reply"
        return self.room.why_not if plan and not self.room.keeps_cells else None

    def _occupancy_before(self, begins_at: int, cut: int, pins: Pins) -> Occupancy:
        """The occupancy as it will be after truncation at `cut`.

        What is there from `begins_at` on has to stay: it is the last turn, an empty one if there is nothing.
        """
        for index, span in enumerate(self.ledger.spans[: self.matched]):
            if span.is_sink != (is_sink := self._is_sink(span.message, pins)):
                self.ledger.spans[index] = replace(span, is_sink=is_sink)
        now = self.sequence.occupancy(self.room.capacity, self.room.policy.n_sinks)
        older = [(start, min(end, begins_at)) for start, end in now.turns if start < begins_at]
        current = [(max(start, begins_at), min(end, cut)) for start, end in now.turns if end > begins_at]
        current = [(start, end) for start, end in current if start < end]
        return replace(now, turns=[*older, *(current or [(begins_at, begins_at)])])

    def _plan(self, occupancy: Occupancy, n_coming: int) -> list[Interval]:
        plan = plan_eviction(occupancy, n_coming + self.room.reserve)
        if plan and self.room.policy.policy is Policy.STOP:
            raise ContextFull(len(self.messages), self.room.capacity)
        return plan

    # --- pins ---

    def _pins(self, first: int) -> Pins | str:
        """Which pins hold now; a sentence if one of them has to be read again."""
        before = self.sequence.pins
        wanted = frozenset(i for i, message in enumerate(self.messages[: self.n_asked]) if message.pinned)
        kept = before.accepted & wanted
        refused = before.refused & wanted if kept == before.accepted else frozenset()
        spans = {span.message: number for number, span in enumerate(self.ledger.spans[: self.matched])}
        n_pinned = sum(self.ledger.size_of(spans[index]) for index in kept if index in spans)
        for index in sorted(wanted - kept - refused):
            if index >= first:
                continue  # it is new; it becomes a sink at the next turn
            span = spans.get(index)
            if span is None or not self.ledger.is_whole(span):
                return self.reasons.pinned(index)
            n_pinned += self.ledger.size_of(span)
            if n_pinned + self._n_system() <= self.room.max_sinks:
                kept |= {index}
            else:
                n_pinned -= self.ledger.size_of(span)
                refused |= {index}
        return Pins(kept, refused)

    def _n_system(self) -> int:
        return sum(
            self.ledger.size_of(number)
            for number, span in enumerate(self.ledger.spans[: self.matched])
            if self._is_system(span.message)
        )

    def _is_system(self, message: int) -> bool:
        if not self.room.policy.pin_system:
            return False
        return message == PREAMBLE or (message == 0 and self.messages[0].role is Role.SYSTEM)

    def _is_sink(self, message: int, pins: Pins) -> bool:
        return self._is_system(message) or message in pins.accepted

    # --- anew ---

    def _rebuild(self, reason: str | None) -> Admitted:
        """Read the sinks and the newest turns that fit."""
        selection = select(self.messages, self.prompts, self.room)
        if (selection.left_out or selection.unread) and self.room.policy.policy is Policy.STOP:
            raise ContextFull(len(self.messages), self.room.capacity)
        evicted = self._no_longer_resident(selection)
        self.sequence.restart([token for part in selection.parts for token in part.ids], selection.unread)
        self.ledger, self.matched = self.sequence.ledger, 0
        self._record(0, selection.parts, selection.pins)
        return Admitted(evicted, reason)

    def _no_longer_resident(self, selection: Selection) -> int:
        """Tokens in the cache of messages that are still in the chat, but are left out or lose a part."""
        ledger, n_read = self.ledger, selection.n_read
        n_unread = {part.message: len(part.ids) - n_read[part.message] for part in selection.parts}
        evicted = 0
        for number, span in enumerate(ledger.spans[: self.matched]):
            end = ledger.span_end(number)
            lost_end = span.start + n_unread.get(span.message, end - span.start)
            evicted += ledger.n_resident_in(span.start, min(end, lost_end))
        return evicted

    def _record(self, start: int, parts: Many[Part], pins: Pins) -> None:
        """Write down whose tokens stand where from the first span that does not match on."""
        spans, first = self.ledger.spans, parts[0].message
        del spans[self.matched :]
        self.sequence.pins, self.sequence.half_character = pins, b""
        self.sequence.seen = {i: message for i, message in self.sequence.seen.items() if i < first}
        for part in parts:
            index = part.message
            is_user = 0 <= index < len(self.messages) and self.messages[index].role is Role.USER
            spans.append(Span(start, index, self._is_sink(index, pins), starts_turn=is_user))
            start += len(part.ids)
            if 0 <= index < len(self.messages):
                self.sequence.seen[index] = self.messages[index]


def _size(plan: Many[Interval]) -> int:
    return sum(end - start for start, end in plan)
