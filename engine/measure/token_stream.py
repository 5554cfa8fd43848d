"""A long text on its way through the model: slice by slice, through a cache that keeps its level.

Token ids go in, the log-probability of each next token comes out. Ledger, sequence and `kv_window` are the
chat's own: to them the text is one turn that has outgrown the window and loses its oldest tokens a
step at a time. Here is only what a policy makes of that, and the clock. Knows nothing about text,
perplexity or events.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence as Many
from dataclasses import dataclass

from engine.decoding.kv_window import plan_eviction
from engine.decoding.sequence import Sequence
from engine.errors import BugError
from engine.llama.batch import Batch
from engine.llama.context import Context
from engine.protocol import EnduranceRun, Shift

_SHIFTS_TIMED = 20


@dataclass(frozen=True, slots=True)
class StreamPolicy:
    """How the cells are kept.

    `capacity`: most tokens in the cache. `n_sinks`: first tokens that never leave; 0 for a window
    without sinks. `last_position`: with the lazy shift, positions grow up to here before they move.
    `slice_size`: tokens of one decode.
    """

    run: EnduranceRun
    shift: Shift
    capacity: int
    n_sinks: int
    last_position: int
    slice_size: int


class TokenStream:
    """Reads `ids` from the first to the last; `step` until `n_done` is their number.

    `seconds` is the time of all steps without that for the log-probabilities, `shifts` how often
    positions moved, `evictions` how often room was made.
    """

    def __init__(self, context: Context, policy: StreamPolicy, ids: Many[int]) -> None:
        self._context = context
        self.policy = policy
        self._sequence = Sequence(context, seq_id=0, chat_id="")
        self._sequence.ledger.open_span(message=0, starts_turn=True)
        self._sequence.ledger.append(ids)
        self._sequence.pending = [(0, len(ids))]
        self._batch = Batch(context.n_batch)
        self.n_done = 0
        self.seconds = 0.0
        self.shifts = 0
        self.evictions = 0
        self._follows_shift = False
        self._shifted_seconds: float | None = None
        self._shift_costs: list[float] = []

    def close(self) -> None:
        """Free the batch."""
        self._batch.close()

    @property
    def shift_seconds(self) -> float | None:
        """What the decode of a token right after a shift took beyond that of the next token; median."""
        return statistics.median(self._shift_costs) if self._shift_costs else None

    def step(self) -> list[float]:
        """Decode one slice; returns the log-probabilities of the tokens that come after its tokens.

        One for each token read, the text's last one excepted; none while the window is read again.
        """
        started = time.perf_counter()
        start, end = self._next_slice()
        self._make_room(end - start)
        start, end = self._next_slice()  # another one if everything has to be read again
        is_new = start >= self.n_done
        self._decode(start, end, is_new)
        self.seconds += time.perf_counter() - started
        if not is_new:
            return []
        self.n_done = end
        ids = self._sequence.ledger.ids
        wanted = [(index, ids[start + index + 1]) for index in range(min(end, len(ids) - 1) - start)]
        return self._context.log_probabilities(wanted)

    def _next_slice(self) -> tuple[int, int]:
        start, end = self._sequence.pending[0]
        if start < self.n_done:  # without logits, so as much at once as the batch takes
            return start, min(end, self.n_done, start + self._batch.capacity)
        # A shift is lost in the noise of a whole slice, and each slice sees more cells than the one before.
        is_timed = self._follows_shift or self._shifted_seconds is not None
        return start, min(end, start + (1 if is_timed else self.policy.slice_size))

    # --- room ---

    def _make_room(self, n_coming: int) -> None:
        policy, sequence = self.policy, self._sequence
        plan = plan_eviction(sequence.occupancy(policy.capacity, policy.n_sinks), n_coming)
        if not plan:
            return
        self.evictions += 1
        if policy.run is EnduranceRun.EXACT:
            sequence.evict_and_evaluate_again(plan)
            return
        if not sequence.evict(plan):
            raise BugError("The cache refused an eviction that it had promised.")
        self._close_gaps_if_due()

    def _close_gaps_if_due(self) -> None:
        ledger, policy = self._sequence.ledger, self.policy
        n_free = policy.capacity - ledger.n_resident  # what comes before the next eviction
        is_due = ledger.next_position + n_free > policy.last_position
        if (is_due or policy.shift is Shift.EAGER) and self._sequence.compact():
            self.shifts += 1
            self._follows_shift = len(self._shift_costs) < _SHIFTS_TIMED

    # --- decode ---

    def _decode(self, start: int, end: int, keeps_logits: bool) -> None:
        ledger, batch = self._sequence.ledger, self._batch
        batch.clear()
        position = ledger.next_position - start
        for offset in range(start, end):
            batch.add(ledger.ids[offset], position + offset, self._sequence.seq_id, keeps_logits)
        started = time.perf_counter()
        status = self._context.decode(batch)
        if status != 0:
            raise BugError(f"llama.cpp could not evaluate the tokens (code {status}).")
        self._note_shift_cost(time.perf_counter() - started)
        ledger.mark_decoded(start, end)
        _start, last = self._sequence.pending.pop(0)
        if end < last:
            self._sequence.pending.insert(0, (end, last))

    def _note_shift_cost(self, seconds: float) -> None:
        """Called with the time of each decode; those of the two after a timed shift are compared."""
        if self._follows_shift:
            self._shifted_seconds = seconds
        elif self._shifted_seconds is not None:
            self._shift_costs.append(self._shifted_seconds - seconds)
            self._shifted_seconds = None
        self._follows_shift = False
