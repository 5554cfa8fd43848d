"""The intake: requests that wait, and how each of them begins.

Replies go in; in their order they get a sequence, the cells that others or the shelf have for them, and the
tokens that are left to evaluate. One that cannot be answered ends here. Knows nothing about batches.
"""

from __future__ import annotations

from collections import deque

from engine.chat.prompt import PromptBuilder
from engine.decoding import admission
from engine.decoding.cache_keeper import CacheKeeper
from engine.decoding.inheritance import Origin, inherit, is_being_evaluated
from engine.decoding.matching import n_asked
from engine.decoding.pool import SequencePool
from engine.decoding.reasons import Reasons
from engine.decoding.reply import Reply
from engine.decoding.sequence import Sequence
from engine.errors import ContextFull, PromptTooLong, WeirError
from engine.protocol import ErrorReport, Event, Failed, Finished, FinishReason


class Intake:
    """Owns the replies that were not begun yet, and knows the `newest` that was."""

    def __init__(self, pool: SequencePool, keeper: CacheKeeper, prompts: PromptBuilder) -> None:
        self._pool = pool
        self._keeper = keeper
        self._prompts = prompts
        self.waiting: deque[Reply] = deque()
        self.newest: Reply | None = None

    def end_cancelled(self) -> list[Finished]:
        """End those that have to end before they were begun."""
        ended = [reply for reply in self.waiting if reply.reason]
        for reply in ended:
            self.waiting.remove(reply)
            reply.close()
        return [self._keeper.finished(reply, None) for reply in ended]

    def admit(self, events: list[Event], n_quick: int) -> None:
        """Begin those whose turn it is, and tell of prompts of more than `n_quick` tokens."""
        while self.waiting:
            reply = self.waiting[0]
            if is_being_evaluated(self._pool, reply.request):
                return
            sequence = self._pool.take(reply.request.chat_id)
            if sequence is None or not self._start(sequence, reply, events, n_quick):
                return
            self.waiting.popleft()

    def _start(self, sequence: Sequence, reply: Reply, events: list[Event], n_quick: int) -> bool:
        """Let `sequence` answer; False if the request has to wait until others are done."""
        messages = reply.request.messages
        not_known = Reasons(sequence, messages, n_asked(messages)).nothing_known() if messages else None
        origin = inherit(self._pool, sequence, messages)
        room = self._keeper.room_for(sequence, reply.request.cache)
        try:
            admitted = admission.admit(sequence, messages, self._prompts, room)
        except WeirError as error:
            if isinstance(error, PromptTooLong) and self._pool.active:
                return False
            self._refuse(sequence, reply, error, events)
            return True
        self._pool.set_others_aside(sequence)
        self._pool.make_free(sequence.n_pending + room.reserve, keep=sequence)
        sequence.reply = self.newest = reply
        reply.evicted = admitted.evicted
        # How another chat went on explains nothing.
        reply.reevaluated_because = not_known if origin is Origin.OTHER_CHAT else admitted.reason
        reply.resume(admitted.half_character)
        reply.reused = sequence.ledger.n_resident
        reply.restored = reply.reused if origin is Origin.RESTORED else 0
        reply.shared = self._pool.n_shared(sequence) if origin.is_shared else 0
        reply.show_prompt(sequence.ledger.ids)
        if reply.evicted:
            self._keeper.tell_eviction(sequence, reply, reply.evicted, events)
        events.append(self._keeper.view(sequence, reply))
        if sequence.n_pending > n_quick:
            events.append(reply.progress(sequence.n_pending))
        return True

    def _refuse(self, sequence: Sequence, reply: Reply, error: WeirError, events: list[Event]) -> None:
        """End a request that was never started; the cache is as it was."""
        reply.close()
        if isinstance(error, ContextFull):
            reply.end(FinishReason.CONTEXT_FULL)
            seen = self._keeper.view_before(sequence, reply)
            reply.reused = seen.n_sinks + seen.n_window if seen else 0
            events.append(
                self._keeper.finished(reply, seen.first_seen if seen else None, ErrorReport.of(error))
            )
        else:
            events.append(Failed(reply.request.request_id, ErrorReport.of(error)))
