"""What the cache's own operations cost: an eviction, and putting back what was saved.

A context goes in, milliseconds come out. The eviction is the chat's own: its `Sequence`, its arithmetic, its
lazy shift, which leaves positions as they are. Knows nothing about events.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.decoding.kv_window import plan_eviction
from engine.decoding.sequence import Sequence as ChatSequence
from engine.decoding.share import Share
from engine.errors import BugError
from engine.llama.batch import Batch
from engine.llama.context import Context
from engine.llama.model import Model

_TIMES = 9
_TOKENS_BETWEEN = 8
_SINKS = 4
ROOM_FOR_EVICTIONS = _TIMES * (_TOKENS_BETWEEN + 2)
"""Tokens that the context needs to have beside those that are measured with."""


@dataclass(frozen=True, slots=True)
class CacheCosts:
    """In milliseconds; None for what this model's cache cannot do, or what is lost in the noise."""

    eviction_ms: float | None
    restore_ms: float | None
    reevaluation_ms: float
    n_restored: int


def cache_costs(model: Model, context: Context, n_tokens: int, check: Callable[[], None]) -> CacheCosts:
    """Measure with `n_tokens` in the cache; `check` is called before each decode and may raise."""
    batch = Batch(context.n_batch)
    try:
        filled = _Filled(context, batch, model.n_vocab, check)
        filled.read(n_tokens)  # for the first time buffers grow
        seconds = filled.read(n_tokens)
        restored = _restore_seconds(context)
        can_evict = context.can_shift and not model.has_recurrent_state
        evicted = _eviction_seconds(filled, n_tokens) if can_evict else None
        context.remove(0, -1, -1)
    finally:
        batch.close()
    return CacheCosts(_ms(evicted), _ms(restored), seconds * 1000, n_tokens)


class _Filled:
    """A sequence of random tokens, all of them in the cache."""

    def __init__(self, context: Context, batch: Batch, n_vocab: int, check: Callable[[], None]) -> None:
        self._context = context
        self._batch = batch
        self._n_vocab = n_vocab
        self._check = check
        self._random = random.Random(0)
        self.sequence = ChatSequence(context, seq_id=0, chat_id="")

    def read(self, n_tokens: int) -> float:
        """Begin anew with so many tokens; returns the seconds that reading them took."""
        self.sequence.clear()
        self.sequence.ledger.open_span(message=0, starts_turn=True)
        return self.add(n_tokens)

    def add(self, n_tokens: int = 1) -> float:
        """Read further tokens; returns the seconds."""
        sequence, batch = self.sequence, self._batch
        start = len(sequence.ledger)
        sequence.ledger.append([self._random.randrange(self._n_vocab) for _ in range(n_tokens)])
        sequence.pending = [(start, start + n_tokens)]
        started = time.perf_counter()
        while sequence.pending:
            self._check()
            batch.clear()
            share = Share.take(batch, sequence, batch.capacity)
            if self._context.decode(batch) != 0:
                raise BugError("llama.cpp could not evaluate the tokens.")
            share.book()
        return time.perf_counter() - started


def _restore_seconds(context: Context) -> float | None:
    """Of putting the cells of the sequence back into the emptied cache."""
    cells = context.save(0)
    context.remove(0, -1, -1)
    started = time.perf_counter()
    return time.perf_counter() - started if context.restore(0, cells) else None


def _eviction_seconds(filled: _Filled, n_tokens: int) -> float | None:
    """What the token that needs room takes longer than the one after it."""
    longer: list[float] = []
    plain: list[float] = []
    for _ in range(_TIMES):
        filled.add(_TOKENS_BETWEEN)
        resident = filled.sequence.ledger.n_resident
        started = time.perf_counter()
        plan = plan_eviction(filled.sequence.occupancy(resident, min(_SINKS, n_tokens // 4)), 1)
        if not plan or not filled.sequence.evict(plan):
            return None
        filled.add()
        longer.append(time.perf_counter() - started)
        plain.append(filled.add())  # sees as many cells, one before the eviction would see more
    return above_noise(longer, plain)


def above_noise(longer: Sequence[float], plain: Sequence[float]) -> float | None:
    """How much longer the median of `longer` is; None unless that is more than both scatter around theirs."""
    middles = [statistics.median(times) for times in (longer, plain)]
    scatter = [
        statistics.median(abs(one - middle) for one in times)
        for times, middle in zip((longer, plain), middles, strict=True)
    ]
    difference = middles[0] - middles[1]
    return difference if difference > max(scatter) else None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
