"""The scheduler: one decode after another, over all chats that are being answered.

    step(): admit -> make room -> one batch of all sequences (tokens to decode, slices of prompts)
            -> decode -> sample -> events

One chat is the case of one sequence. The scheduler owns the sequences and is the only one that
lets them change; `step` returns what happened as events, in order. It works in one thread, knows
nothing about processes, and never waits for anything but llama.cpp.
"""

from __future__ import annotations

import time
from dataclasses import replace

from engine.chat.prompt import PromptBuilder
from engine.decoding.cache_keeper import CacheKeeper
from engine.decoding.decoder import Decoder
from engine.decoding.intake import Intake
from engine.decoding.pool import SequencePool
from engine.decoding.reply import Reply
from engine.decoding.sequence import Sequence
from engine.decoding.share import Share
from engine.decoding.shelf import Shelf
from engine.decoding.slices import SliceSize
from engine.decoding.speculation import Speculation
from engine.decoding.throughput import Throughput
from engine.decoding.verification import Taken, take_tokens
from engine.llama.batch import Batch
from engine.llama.context import Context
from engine.llama.draft_model import DraftModel
from engine.llama.model import Model
from engine.protocol import (
    CacheView,
    ErrorCode,
    ErrorReport,
    Event,
    FinishReason,
    Generate,
    LookAt,
    PrefillProgress,
    Role,
    SequenceUse,
    TextDelta,
)


class Scheduler:
    """Answers `Generate` requests over one context.

    `decode_tps` is the rate of generated tokens in the last second, None when there were none.
    """

    def __init__(
        self,
        model: Model,
        context: Context,
        prompts: PromptBuilder,
        n_seq_max: int,
        shelf: Shelf | None = None,
        *,
        draft_model: DraftModel | None = None,
        follows_load: bool = False,
        most_exact: int | None = None,
    ) -> None:
        self._model = model
        self._context = context
        self._batch = Batch(context.n_batch)
        self._slice = SliceSize(context.n_batch)
        self._pool = SequencePool(context, n_seq_max, shelf, can_share=not model.has_recurrent_state)
        self._decoder = Decoder(context, follows_load=follows_load)
        self._keeper = CacheKeeper(model, context, self._pool, prompts)
        self._speculation = Speculation(model, context, draft_model, most_exact)
        self._intake = Intake(self._pool, self._keeper, prompts)
        self._throughput = Throughput()

    # --- requests ---

    def submit(self, request: Generate) -> None:
        """Queue a request; `step` answers it. A last reply without any text is answered, not gone on with."""
        messages = request.messages
        if messages and messages[-1].role is Role.ASSISTANT and not messages[-1].content:
            request = replace(request, messages=messages[:-1])
        self._intake.waiting.append(Reply(request, self._model))

    def cancel(self, request_id: int) -> None:
        """End a request with what it has; takes effect at the next step. Unknown ids are ignored."""
        for reply in self._replies():
            if reply.request.request_id == request_id:
                reply.reason = FinishReason.CANCELLED

    def forget(self, chat_id: str) -> None:
        """Free the cells of a chat; a reply of it that is still being made is cancelled first."""
        for sequence in self._pool.forget(chat_id):
            if sequence.reply:
                sequence.reply.reason = FinishReason.CANCELLED

    def sequence(self, chat_id: str) -> Sequence | None:
        """The sequence of a chat, None if none of it is in the cache."""
        return self._pool.find(chat_id)

    @property
    def busy(self) -> bool:
        """True while `step` has something to do."""
        return bool(self._replies())

    def _replies(self) -> list[Reply]:
        return [*self._intake.waiting, *(s.reply for s in self._pool.active if s.reply)]

    def close(self) -> None:
        """Keep what is in the cells, where there is a shelf; free the batch and the samplers."""
        for reply in self._replies():
            reply.close()
        self._pool.put_all_on_the_shelf()
        self._batch.close()

    def look(self, question: LookAt) -> CacheView:
        """What the model sees of a chat, or will see with its next message."""
        return self._keeper.look(question)

    # --- figures ---

    @property
    def newest_reply(self) -> Reply | None:
        """The one that was begun last."""
        return self._intake.newest

    @property
    def cells_used(self) -> int:
        """Live cells of the whole cache."""
        return self._pool.cells_used

    @property
    def cells(self) -> int:
        """Cells of the whole cache."""
        return self._context.n_ctx

    @property
    def n_threads(self) -> int:
        """Threads that generated tokens are decoded with just now."""
        return self._decoder.n_threads

    @property
    def uses(self) -> tuple[SequenceUse, ...]:
        """What each chat has of them."""
        return self._pool.uses

    @property
    def decode_tps(self) -> float | None:
        """Generated tokens a second over the decodes of the last second; None while none are generated."""
        return self._throughput.rate() if any(reply.decoding for reply in self._replies()) else None

    # --- the heart ---

    def step(self) -> list[Event]:
        """Do one decode's worth of work at most; returns what happened."""
        events: list[Event] = []
        self._end_cancelled(events)
        self._intake.admit(events, n_quick=self._slice.size(beside_replies=False))
        if any(isinstance(event, PrefillProgress) for event in events):
            return events  # a long prompt is told of before its first slice, which may take a while
        shares = self._fill_batch(events)
        if shares:
            started = time.perf_counter()
            status = self._decoder.decode(self._batch, sum(s.n_tokens for s in shares if s.is_prompt))
            self._settle(shares, status, started, events)
        return events

    # --- one batch ---

    def _fill_batch(self, events: list[Event]) -> list[Share]:
        self._batch.clear()
        shares: list[Share] = []
        self._speculation.begin(self._pool.active, self.cells - self.cells_used, self._batch.capacity)
        # Tokens of replies first: they are one each, and a prompt's slice takes what is left.
        for sequence in sorted(self._pool.active, key=lambda sequence: sequence.n_pending):
            are_replies_on = any(not share.is_prompt for share in shares)
            if are_replies_on and self._slice.is_owed and not (sequence.reply and sequence.reply.decoding):
                continue
            limit = min(self._slice.size(are_replies_on), self._batch.capacity - len(self._batch))
            # The others' tokens in this batch need cells too.
            n_coming = min(limit, sequence.n_pending) + len(self._batch)
            if limit > 0 and self._has_room(sequence, n_coming, events):
                shares.append(Share.take(self._batch, sequence, limit, self._speculation.draft(sequence)))
        return shares

    def _has_room(self, sequence: Sequence, n_coming: int, events: list[Event]) -> bool:
        """Make room for the next tokens of `sequence`; False if its reply had to end instead."""
        end = self._keeper.make_room(sequence, n_coming, events)
        if end is FinishReason.CONTEXT_FULL:
            self._flush(sequence, end, events)
        elif end:
            self._fail(sequence, "the other chats need the rest of the context", events)
        return end is None

    # --- after the decode ---

    def _settle(self, shares: list[Share], status: int, started: float, events: list[Event]) -> None:
        if status != 0:
            for share in shares:
                self._fail(share.sequence, f"llama.cpp could not evaluate the tokens (code {status})", events)
                share.sequence.clear()  # which of its cells were written is not known
            return
        taken = [take_tokens(share, self._context) for share in shares]
        self._account(taken, time.perf_counter() - started + self._speculation.seconds, events)
        for one in taken:
            self._tell(one, events)

    def _account(self, taken: list[Taken], seconds: float, events: list[Event]) -> None:
        plain_seconds = self._speculation.learn(taken, seconds)
        n_prompt = sum(one.share.n_tokens for one in taken if one.is_prompt)
        n_total = sum(one.share.n_tokens for one in taken)
        self._slice.measured(n_prompt, sum(not one.is_prompt for one in taken), seconds)
        for one in taken:
            sequence, n_tokens = one.share.sequence, one.share.n_tokens
            if (reply := sequence.reply) is None:
                continue
            if one.is_prompt:
                # Of a batch with others it had its share of the time.
                reply.count_prefill(n_tokens, seconds * n_tokens / n_total)
                events.append(reply.progress(0 if one.n_tokens else sequence.n_pending))
            else:
                reply.count_decode(one.n_tokens, seconds, plain_seconds)
                reply.count_draft(len(one.share.draft), one.n_accepted)
        if n_sampled := sum(one.n_tokens for one in taken if not one.is_prompt):
            self._throughput.count(n_sampled, seconds)

    def _tell(self, taken: Taken, events: list[Event]) -> None:
        sequence = taken.share.sequence
        if (reply := sequence.reply) is None or not taken.n_tokens:
            return
        if taken.is_prompt:
            events.append(self._keeper.view(sequence, reply))  # the whole prompt is in the cache now
        if taken.text:
            events.append(TextDelta(reply.request.request_id, taken.text, reply.generated))
        if reply.reason:
            self._finish(sequence, events)

    # --- ends ---

    def _end_cancelled(self, events: list[Event]) -> None:
        events += self._intake.end_cancelled()
        for sequence in [s for s in self._pool.active if s.reply and s.reply.reason]:
            self._flush(sequence, FinishReason.CANCELLED, events)

    def _fail(self, sequence: Sequence, what: str, events: list[Event]) -> None:
        """End a reply because of a failure; its text so far is kept."""
        message = f"The reply ended early: {what}. The text so far is kept; send a message to go on."
        self._flush(sequence, FinishReason.ERROR, events, ErrorReport(ErrorCode.BUG, message))

    def _flush(
        self, sequence: Sequence, reason: FinishReason, events: list[Event], error: ErrorReport | None = None
    ) -> None:
        """End a reply from outside: what its stream held back comes first."""
        reply = sequence.reply
        if reply is None:
            return
        text = reply.end(reason)
        if text:
            events.append(TextDelta(reply.request.request_id, text, reply.generated))
        self._finish(sequence, events, error)

    def _finish(self, sequence: Sequence, events: list[Event], error: ErrorReport | None = None) -> None:
        """Let the sequence be idle. What is not decoded yet stays in the ledger for the next turn."""
        if (reply := sequence.reply) is None:
            return
        sequence.settle(reply)
        sequence.pending = []
        sequence.reply = None
        reply.close()
        seen = self._keeper.view(sequence, reply)
        events += [seen, self._keeper.finished(reply, seen.first_seen, error)]
        self._pool.release_forgotten()
