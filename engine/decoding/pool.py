"""The pool: which chats have a sequence in the context, and whose cells are given up for others.

All sequences share the context's cells. A chat keeps its sequence while it is idle, so that its
next turn reads only what is new, until another one needs the cells or the sequence: then the chat
that was used longest ago goes. Knows nothing about batches or replies beyond whether one is on.
"""

from __future__ import annotations

from engine.decoding.sequence import Sequence
from engine.llama.context import Context


class SequencePool:
    """Up to `n_seq_max` sequences, least recently used first."""

    def __init__(self, context: Context, n_seq_max: int) -> None:
        self._context = context
        self._free_ids = list(range(n_seq_max))
        self._sequences: list[Sequence] = []

    @property
    def active(self) -> list[Sequence]:
        """Sequences that are being answered, in the order of their last use."""
        return [sequence for sequence in self._sequences if sequence.reply]

    @property
    def cells_used(self) -> int:
        """Live cells of the whole cache."""
        return sum(sequence.ledger.n_resident for sequence in self._sequences)

    def capacity_for(self, sequence: Sequence) -> int:
        """Cells that `sequence` may use beside those of the others that are being answered."""
        others = (other for other in self.active if other is not sequence)
        return self._context.n_ctx - sum(other.ledger.n_resident for other in others)

    def find(self, chat_id: str) -> Sequence | None:
        """The sequence of a chat, None if nothing of it is in the cache."""
        return next((s for s in self._sequences if s.chat_id == chat_id), None)

    def take(self, chat_id: str) -> Sequence | None:
        """The chat's own sequence, else a new one; None while it, or every other one, is busy."""
        sequence = self.find(chat_id)
        if sequence and sequence.reply:
            return None
        if sequence:
            self._sequences.remove(sequence)
        else:
            if not self._free_ids and not self._release_oldest_idle():
                return None
            sequence = Sequence(self._context, self._free_ids.pop(0), chat_id)
        self._sequences.append(sequence)
        return sequence

    def make_free(self, n_cells: int, keep: Sequence) -> None:
        """Give up idle chats, the oldest first, until `n_cells` are free or `keep` is alone."""
        while self._context.n_ctx - self.cells_used < n_cells and self._release_oldest_idle(keep):
            pass

    def forget(self, chat_id: str) -> Sequence | None:
        """Let nothing find the chat again; returns its sequence if that is still being answered."""
        sequence = self.find(chat_id)
        if sequence:
            sequence.chat_id = ""
        self.release_forgotten()
        return sequence if sequence and sequence.reply else None

    def release_forgotten(self) -> None:
        """Free the cells of forgotten chats that are not being answered any more."""
        for sequence in [s for s in self._sequences if not s.chat_id and not s.reply]:
            self._release(sequence)

    def _release_oldest_idle(self, keep: Sequence | None = None) -> bool:
        idle = next((s for s in self._sequences if not s.reply and s is not keep), None)
        if idle:
            self._release(idle)
        return idle is not None

    def _release(self, sequence: Sequence) -> None:
        sequence.clear()
        self._sequences.remove(sequence)
        self._free_ids.append(sequence.seq_id)
