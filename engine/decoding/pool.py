"""The pool: which chats have a sequence in the context, and whose cells are given up for others.

All sequences share the context's cells. A chat keeps its sequence while it is idle, so that its
next turn reads only what is new, until another one needs the cells or the sequence: then the chat
that was used longest ago goes, onto the shelf where there is one. Cells that several sequences share
count once. Knows nothing about batches or replies beyond whether one is on.
"""

from __future__ import annotations

from engine.decoding.sequence import Sequence
from engine.decoding.shared_cells import n_cells, n_shared
from engine.decoding.shelf import Shelf
from engine.llama.context import Context
from engine.protocol import SequenceUse, chat_of_variant


class SequencePool:
    """Up to `n_seq_max` sequences, least recently used first.

    `can_share`: whether one may begin with the cells of another.
    """

    def __init__(
        self, context: Context, n_seq_max: int, shelf: Shelf | None = None, can_share: bool = True
    ) -> None:
        self.can_share = can_share
        self._context = context
        self._shelf = shelf
        self._free_ids = list(range(n_seq_max))
        self._sequences: list[Sequence] = []

    @property
    def active(self) -> list[Sequence]:
        """Sequences that are being answered, in the order of their last use."""
        return [sequence for sequence in self._sequences if sequence.reply]

    @property
    def sequences(self) -> tuple[Sequence, ...]:
        """All of them, least recently used first."""
        return tuple(self._sequences)

    @property
    def cells_used(self) -> int:
        """Live cells of the whole cache."""
        return n_cells(sequence.ledger for sequence in self._sequences)

    @property
    def uses(self) -> tuple[SequenceUse, ...]:
        """What each sequence has in the cache, the newest first."""
        return tuple(
            SequenceUse(s.chat_id, s.ledger.n_resident, self.n_shared(s), s.reply is not None)
            for s in reversed(self._sequences)
        )

    def has_free(self, n_needed: int) -> bool:
        """Whether so many cells are free, told without counting what is shared; False may be wrong."""
        n_used = sum(sequence.ledger.n_resident for sequence in self._sequences)
        return n_used + n_needed <= self._context.n_ctx

    def n_shared(self, sequence: Sequence) -> int:
        """Cells of `sequence` that another one has too."""
        return n_shared(sequence.ledger, (other.ledger for other in self._sequences if other is not sequence))

    def capacity_for(self, sequence: Sequence) -> int:
        """Cells that `sequence` may have beside those of the others that are being answered.

        What it shares with them costs nothing.
        """
        others = [other.ledger for other in self.active if other is not sequence]
        return self._context.n_ctx - n_cells(others) + n_shared(sequence.ledger, others)

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

    def fetch(self, sequence: Sequence) -> bool:
        """Give an empty sequence the cells of its chat that lie on the shelf; False if there are none."""
        saved = self._shelf.get(sequence.chat_id) if self._shelf else None
        if saved is None:
            return False
        self.make_free(sum(run.size for run in saved.runs), keep=sequence)
        return sequence.restore(saved)

    # --- giving up ---

    def make_free(self, n_needed: int, keep: Sequence) -> None:
        """Give up idle chats, the oldest first, until so many cells are free or `keep` is alone."""
        while self._context.n_ctx - self.cells_used < n_needed and self._release_oldest_idle(keep):
            pass

    def set_others_aside(self, sequence: Sequence) -> None:
        """Give up old variants of the chat and, where a shelf keeps them, all idle chats.

        Each step looks at all cells in use: with 3,000 of others one at 1,500 took 12.5 ms instead of 9.4.
        And what lies alone is computed as in a fresh context, to the bit.
        """
        chat_id = chat_of_variant(sequence.chat_id)
        for other in [s for s in self._sequences if not s.reply and s is not sequence]:
            is_of_this_chat = chat_of_variant(other.chat_id) == chat_id
            is_old_variant = is_of_this_chat and sequence.chat_id == chat_id
            is_kept = not is_of_this_chat and self._shelf is not None
            if is_old_variant or is_kept:
                self._release(other)

    def put_all_on_the_shelf(self) -> None:
        """Keep what is in the cells beyond the end of this process."""
        for sequence in list(self._sequences):
            self._release(sequence)

    def forget(self, chat_id: str) -> list[Sequence]:
        """Let nothing find the chat again, nor its variants; returns those that are still being answered."""
        forgotten = [s for s in self._sequences if chat_of_variant(s.chat_id) == chat_id]
        for sequence in forgotten:
            sequence.chat_id = ""
        if self._shelf:
            self._shelf.forget(chat_id)
        self.release_forgotten()
        return [sequence for sequence in forgotten if sequence.reply]

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
        # A variant that was not chosen does not come back.
        if self._shelf and sequence.chat_id and sequence.chat_id == chat_of_variant(sequence.chat_id):
            self._shelf.put(sequence)
        sequence.clear()
        self._sequences.remove(sequence)
        self._free_ids.append(sequence.seq_id)
