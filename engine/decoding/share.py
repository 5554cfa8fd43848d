"""A share: the tokens of one sequence in the batch of one decode.

It is taken from what is pending before the decode, and booked in the ledger after it. Knows nothing about
how a batch is divided among sequences, or what is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.decoding.sequence import Sequence
from engine.llama.context import Batch


@dataclass(frozen=True, slots=True)
class Share:
    """Offsets [start, end) of a sequence; `output` is the last one's batch index if it has logits."""

    sequence: Sequence
    start: int
    end: int
    output: int | None

    @classmethod
    def take(cls, batch: Batch, sequence: Sequence, limit: int) -> Share:
        """Put up to `limit` of the pending tokens of `sequence` into the batch."""
        start, end = sequence.pending[0]
        end = min(end, start + limit)
        is_last = len(sequence.pending) == 1 and end == sequence.pending[0][1]
        ledger = sequence.ledger
        index = batch.extend(ledger.ids[start:end], ledger.next_position, sequence.seq_id, is_last)
        output = index if is_last else None
        return cls(sequence, start, end, output)

    def book(self) -> None:
        """The tokens are in the cache now."""
        self.sequence.ledger.mark_decoded(self.start, self.end)
        _start, end = self.sequence.pending.pop(0)
        if self.end < end:
            self.sequence.pending.insert(0, (self.end, end))
