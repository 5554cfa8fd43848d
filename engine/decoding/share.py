"""A share: the tokens of one sequence in the batch of one decode.

It is taken from what is pending before the decode, with drafted tokens behind it, and booked in the ledger
after it. Knows nothing about how a batch is divided among sequences, who drafts, or what is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass

from engine.decoding.sequence import Sequence
from engine.llama.batch import Batch


@dataclass(frozen=True, slots=True)
class Share:
    """Offsets [start, end) of a sequence; `output` is the last one's batch index if it has logits.

    `draft`: tokens behind them that are not in the ledger; their logits are at the indexes after `output`.
    """

    sequence: Sequence
    start: int
    end: int
    output: int | None
    draft: tuple[int, ...] = ()

    @classmethod
    def take(cls, batch: Batch, sequence: Sequence, limit: int, draft: Many[int] = ()) -> Share:
        """Put up to `limit` of the pending tokens of `sequence` into the batch.

        A `draft` is only for a sequence whose one pending token is taken.
        """
        start, end = sequence.pending[0]
        end = min(end, start + limit)
        is_last = len(sequence.pending) == 1 and end == sequence.pending[0][1]
        ledger, position = sequence.ledger, sequence.ledger.next_position
        index = batch.extend(ledger.ids[start:end], position, sequence.seq_id, is_last)
        output = index if is_last else None
        for token in draft:
            position += 1
            batch.add(token, position, sequence.seq_id, True)
        return cls(sequence, start, end, output, tuple(draft))

    @property
    def n_tokens(self) -> int:
        """Tokens of the batch, drafted ones too."""
        return self.end - self.start + len(self.draft)

    @property
    def is_prompt(self) -> bool:
        """True if the tokens are of the prompt, as long as they are not booked."""
        return not (self.sequence.reply and self.sequence.reply.decoding)

    def book(self) -> None:
        """The tokens are in the cache now; those of the draft are not booked before they are accepted."""
        self.sequence.ledger.mark_decoded(self.start, self.end)
        _start, end = self.sequence.pending.pop(0)
        if self.end < end:
            self.sequence.pending.insert(0, (self.end, end))
