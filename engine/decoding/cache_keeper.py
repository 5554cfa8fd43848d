"""The cache's keeper: makes room for the tokens to come, by each chat's policy, and tells of it.

It carries out the plans of `kv_window` on sequences, decides when positions close their gaps, and
answers what the model sees. Knows nothing about batches, sampling or the ends of replies.
"""

from __future__ import annotations

from collections.abc import Sequence as Many

from engine.chat.prompt import PromptBuilder
from engine.decoding import view
from engine.decoding.kv_window import plan_eviction
from engine.decoding.ledger import Interval
from engine.decoding.pool import SequencePool
from engine.decoding.reply import Reply
from engine.decoding.room import Room
from engine.decoding.sequence import Sequence
from engine.decoding.shared_cells import common
from engine.errors import BugError
from engine.llama.context import Context
from engine.llama.model import Model
from engine.protocol import (
    CachePolicy,
    CacheShifted,
    CacheView,
    ErrorReport,
    Event,
    Finished,
    FinishReason,
    LookAt,
    Policy,
    Shift,
)


class CacheKeeper:
    """Keeps the cells of all sequences within the context."""

    def __init__(self, model: Model, context: Context, pool: SequencePool, prompts: PromptBuilder) -> None:
        self._context = context
        self._pool = pool
        self._prompts = prompts
        self._can_evict = context.can_shift and not model.has_recurrent_state
        self._last_position = max(model.n_ctx_train, context.n_ctx)

    # --- room ---

    def room_for(self, sequence: Sequence, policy: CachePolicy) -> Room:
        """What `sequence` may use beside the others that are being answered."""
        return Room(self._pool.capacity_for(sequence), policy, self._can_evict)

    def make_room(self, sequence: Sequence, n_coming: int, events: list[Event]) -> FinishReason | None:
        """Free cells for the next tokens of a reply; the reason why it has to end if that cannot be."""
        reply = sequence.reply
        if reply is None:
            raise BugError("Room was to be made for a sequence that is not being answered.")
        if not self._pool.has_free(n_coming):  # it is at nearly every step
            self._pool.make_free(n_coming, keep=sequence)
            room = self.room_for(sequence, reply.request.cache)
            if sequence.ledger.n_resident + n_coming > room.capacity:
                return self._evict(sequence, reply, room, n_coming, events)
        self._close_gaps_if_due(sequence, reply, n_coming)
        return None

    def _evict(
        self, sequence: Sequence, reply: Reply, room: Room, n_coming: int, events: list[Event]
    ) -> FinishReason | None:
        """Let the oldest turns leave, by the policy; the reason why the reply has to end if they may not."""
        if room.policy.policy is Policy.STOP:
            return FinishReason.CONTEXT_FULL
        occupancy = sequence.occupancy(room.capacity, room.policy.n_sinks)
        if occupancy.sinks + n_coming > room.capacity:
            return FinishReason.ERROR
        plan = plan_eviction(occupancy, n_coming)
        if room.keeps_cells:
            self._evict_together(sequence, plan, events)
        else:
            sequence.evict_and_evaluate_again(plan)
            reply.reevaluated_because = room.why_not
            self._tell_evicted(sequence, plan, events)
        return None

    def _evict_together(self, sequence: Sequence, plan: Many[Interval], events: list[Event]) -> None:
        """Take the plan out of the cache, for all who share its cells: else none would become free."""
        others = [other for other in self._pool.active if other is not sequence]
        plans = [(sequence, plan)] + [(o, common(sequence.ledger, o.ledger, plan)) for o in others]
        for one, its_plan in plans:
            if its_plan and not one.evict(its_plan):
                raise BugError("The cache refused an eviction that it had promised.")
        for one, its_plan in plans:
            # The others may stand in the batch already: their positions move at their own next step.
            self._tell_evicted(one, its_plan, events, may_move=one is sequence)

    def _tell_evicted(
        self, sequence: Sequence, plan: Many[Interval], events: list[Event], *, may_move: bool = True
    ) -> None:
        reply, n_evicted = sequence.reply, sum(end - start for start, end in plan)
        if not reply or not n_evicted:
            return
        reply.evicted += n_evicted
        if may_move:
            self.tell_eviction(sequence, reply, n_evicted, events)
        else:
            events.append(CacheShifted(reply.request.request_id, n_evicted, shifted=False))
        events.append(self.view(sequence, reply))

    def tell_eviction(self, sequence: Sequence, reply: Reply, n_evicted: int, events: list[Event]) -> None:
        """Close the gaps if that is due, and report."""
        # As far ahead as the room goes, so that a lazy shift falls together with an eviction.
        n_free = self._context.n_ctx - sequence.ledger.n_resident
        shifted = self._close_gaps_if_due(sequence, reply, n_free)
        events.append(CacheShifted(reply.request.request_id, n_evicted, shifted))

    def _close_gaps_if_due(self, sequence: Sequence, reply: Reply, n_coming: int) -> bool:
        """Move positions if the policy is to, or if they would leave what the model was trained for."""
        is_due = sequence.ledger.next_position + n_coming > self._last_position
        is_eager = reply.request.cache.shift is Shift.EAGER
        if not self._can_evict or not (is_due or is_eager):
            return False
        if sequence.has_gaps and self._pool.n_shared(sequence) and not self._take_own_cells(sequence, reply):
            return False
        shifted = sequence.compact()
        reply.shifted = reply.shifted or shifted
        return shifted

    def _take_own_cells(self, sequence: Sequence, reply: Reply) -> bool:
        """Part from those who share cells with it: they would move too. False if all is read again."""
        self._pool.make_free(self._pool.n_shared(sequence), keep=sequence)
        if sequence.take_own_cells():
            return True
        reply.reevaluated_because = "its cells were shared with another chat"
        return False

    # --- what the model sees ---

    def view(self, sequence: Sequence, reply: Reply) -> CacheView:
        """What the model sees of the chat that is being answered; the reply is its last message."""
        room = self._whole_room(reply.request.cache)
        return view.of_sequence(sequence, reply.request.chat_id, reply.index + 1, self._prompts, room)

    def view_before(self, sequence: Sequence, reply: Reply) -> CacheView | None:
        """What the model sees of the chat before its last message; None if other messages are there."""
        is_current = view.is_current(sequence, reply.request.messages[:-1])
        return self.view(sequence, reply) if is_current else None

    def look(self, question: LookAt) -> CacheView:
        """What the model sees of a chat, or will see with its next message."""
        room = self._whole_room(question.cache)
        sequence = self._pool.find(question.chat_id)
        if sequence and view.is_current(sequence, question.messages):
            return view.of_sequence(sequence, question.chat_id, len(question.messages), self._prompts, room)
        return view.forecast(question, self._prompts, room)

    # --- ends ---

    def finished(self, reply: Reply, first_seen: int | None, error: ErrorReport | None = None) -> Finished:
        """The event that ends a reply, with the cells as they are now."""
        stats = reply.stats(self._pool.cells_used, self._context.n_ctx, first_seen)
        return reply.finished(stats, error)

    def _whole_room(self, policy: CachePolicy) -> Room:
        return Room(self._context.n_ctx, policy, self._can_evict)
