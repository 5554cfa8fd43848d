"""A draft model: a small model with the same vocabulary that says what the large one may say next.

Ids of a sequence go in, the likeliest next ones come out. It has cells of its own, which follow the ids that
it is shown: they are compared each time, so nobody has to tell it what was evicted, edited or never said. Of
a long chat it sees the first tokens and the newest ones. Knows nothing about sampling, or if it was right.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence

import llama_cpp.llama_cpp as llama

from engine.llama.batch import Batch
from engine.llama.context import Context
from engine.llama.model import Model
from engine.protocol import MOST_DRAFTED

_N_SINKS = 4
_WEIGHT = 0.1


class DraftModel:
    """Drafts for up to `n_seq_max` sequences, each in an equal part of the context's cells.

    `seconds_each`: what one drafted token takes, None until one was drafted.
    """

    def __init__(self, model: Model, context: Context, n_seq_max: int) -> None:
        self._model = model
        self._context = context
        self._batch = Batch(context.n_batch)
        self._capacity = context.n_ctx // n_seq_max
        self._reserve = min(MOST_DRAFTED, self._capacity // 4)
        self._greedy = llama.llama_sampler_init_greedy()
        self._cells = [array("i") for _ in range(n_seq_max)]
        self._n_skipped = [0] * n_seq_max
        """How many tokens behind the sinks each sequence does not see any more."""
        self.seconds_each: float | None = None

    def close(self) -> None:
        """Free the batch and the sampler."""
        self._batch.close()
        llama.llama_sampler_free(self._greedy)

    def read(self, seq_id: int, ids: Sequence[int], limit: int | None = None) -> bool:
        """Evaluate what is new of `ids` but for the last one, up to `limit` tokens; False if more is left."""
        missing = self._missing(seq_id, ids[:-1])
        taken = missing if limit is None else missing[:limit]
        return self._evaluate(seq_id, taken) and len(taken) == len(missing)

    def draft(self, seq_id: int, ids: Sequence[int], n_tokens: int) -> list[int]:
        """The `n_tokens` that are likeliest after `ids`, fewer if the turn ends before."""
        started, draft = time.perf_counter(), list[int]()
        coming = self._missing(seq_id, ids, with_last=True)
        while len(draft) < n_tokens and self._evaluate(seq_id, coming):
            token = int(llama.llama_sampler_sample(self._greedy, self._context.handle, -1))
            draft.append(token)
            if self._model.is_end_of_generation(token):
                break
            coming = [token]
        if draft:
            self._measured((time.perf_counter() - started) / len(draft))
        return draft

    def _measured(self, seconds: float) -> None:
        known = self.seconds_each
        self.seconds_each = seconds if known is None else known + _WEIGHT * (seconds - known)

    def _missing(self, seq_id: int, ids: Sequence[int], with_last: bool = False) -> list[int]:
        """What of `ids` is not in the cells; cells that say otherwise are removed.

        `with_last`: the last one is evaluated in any case, for its logits.
        """
        seen = self._seen(seq_id, ids)
        cells = self._cells[seq_id]
        n_common = _common_prefix(cells, seen)
        if with_last:
            n_common = min(n_common, len(seen) - 1)
        if n_common < len(cells):
            self._context.remove(seq_id, n_common)
            del cells[n_common:]
        return list(seen[n_common:])

    def _seen(self, seq_id: int, ids: Sequence[int]) -> array[int]:
        """What the sequence shall see of `ids`; where that outgrows its cells, the oldest third leaves."""
        n_skipped = self._n_skipped[seq_id]
        if n_skipped and len(ids) < n_skipped + self._capacity // 2:
            n_skipped = self._n_skipped[seq_id] = 0  # another chat, or one that was cut back
        excess = len(ids) - n_skipped + self._reserve - self._capacity
        if excess > 0:
            self._skip(seq_id, max(excess, self._capacity // 3))
            n_skipped = self._n_skipped[seq_id]
        return array("i", [*ids[:_N_SINKS], *ids[_N_SINKS + n_skipped :]])

    def _skip(self, seq_id: int, count: int) -> None:
        self._n_skipped[seq_id] += count
        end, cells = _N_SINKS + count, self._cells[seq_id]
        if end < len(cells) and self._context.can_shift:
            self._context.remove(seq_id, _N_SINKS, end)
            self._context.shift(seq_id, end, -1, -count)
            del cells[_N_SINKS:end]

    def _evaluate(self, seq_id: int, ids: Sequence[int]) -> bool:
        """Put `ids` behind the cells; False if llama.cpp could not, and then the sequence is empty."""
        cells = self._cells[seq_id]
        for start in range(0, len(ids), self._batch.capacity):
            part = ids[start : start + self._batch.capacity]
            self._batch.clear()
            self._batch.extend(part, len(cells), seq_id, True)
            if self._context.decode(self._batch) != 0:
                self._context.remove(seq_id, -1)
                del cells[:]
                return False
            cells.extend(part)
        return True


def _common_prefix(first: array[int], second: array[int]) -> int:
    """How many items agree from the beginning; nearly always all do."""
    low, high = 0, min(len(first), len(second))
    if first[:high] == second[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
