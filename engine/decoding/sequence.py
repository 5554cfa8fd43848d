"""A sequence: one chat's ledger together with its cells in the context.

Every change to the cache goes through here, so that ledger and cells cannot drift apart: the
ledger answers which positions a change concerns, the context is told, and what it says is checked.
A cache that cannot do what was asked is cleared, and the caller evaluates again.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.decoding.kv_window import Occupancy
from engine.decoding.ledger import Interval, Ledger
from engine.errors import BugError
from engine.protocol import Message, Role

if TYPE_CHECKING:
    from engine.decoding.kv_store import SavedSequence
    from engine.decoding.reply import Reply
    from engine.llama.context import Context


@dataclass(frozen=True, slots=True)
class Pins:
    """Indexes of pinned messages: those that stay, and those that would leave too little window."""

    accepted: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()


class Sequence:
    """One chat in the cache.

    `pending`: intervals of token offsets that are still to be decoded, in order. `seen`: for each
    message of the chat whose tokens stand in the ledger exactly, that message. `pins`: the pinned
    ones as they were last dealt with. `reply`: the request that is being answered, None while the
    sequence is idle. `half_character`: bytes that the last reply's tokens say behind its text.
    """

    def __init__(self, context: Context, seq_id: int, chat_id: str) -> None:
        self._context = context
        self.seq_id = seq_id
        self.chat_id = chat_id
        self.ledger = Ledger()
        self.seen: dict[int, Message] = {}
        self.pins = Pins()
        self.half_character = b""
        self.pending: list[Interval] = []
        self.reply: Reply | None = None

    @property
    def n_pending(self) -> int:
        """Tokens that are still to be decoded."""
        return sum(end - start for start, end in self.pending)

    @property
    def n_skipped(self) -> int:
        """Tokens before the newest that are not in the cache (evicted)."""
        return self.ledger.end_decoded - self.ledger.n_resident

    @property
    def has_gaps(self) -> bool:
        """True if positions are free between those in use, or before them."""
        return self.ledger.next_position > self.ledger.n_resident

    # --- what the window may take ---

    def occupancy(self, capacity: int, n_sinks: int) -> Occupancy:
        """The resident tokens as the eviction's arithmetic wants them: sinks, then turns.

        The first `n_sinks` tokens are sinks, whatever message they belong to.
        """
        ledger, sinks = self.ledger, 0
        turns: list[Interval] = []
        for run in ledger.runs:
            index = ledger.span_at(run.start)
            while index < len(ledger.spans) and ledger.spans[index].start < run.end:
                span = ledger.spans[index]
                start, end = max(span.start, run.start), min(ledger.span_end(index), run.end)
                evictable = end if span.is_sink else min(max(start, n_sinks), end)
                sinks += evictable - start
                if evictable < end:
                    _extend_turns(turns, evictable, end, span.starts_turn)
                index += 1
        return Occupancy(capacity, sinks, turns)

    # --- changes to the cache ---

    def truncate(self, length: int) -> bool:
        """Forget all tokens from offset `length` on. False: everything had to be cleared instead."""
        removed = self.ledger.truncate(length)
        self.pending = []
        kept = {span.message for span in self.ledger.spans}
        self.seen = {index: message for index, message in self.seen.items() if index in kept}
        return self._apply_removal(removed)

    def settle(self, reply: Reply) -> None:
        """Let the last span be the reply just as its text says it, so that its tokens can be kept.

        Where that cannot be, the next turn reads the reply from its text.
        """
        content = reply.before + reply.stream.text
        if reply.n_surplus is None or not content:
            self.seen.pop(reply.index, None)
            return
        if reply.n_surplus:  # a stop string
            self.truncate(len(self.ledger) - reply.n_surplus)
        self.half_character = reply.half_character
        self.seen[reply.index] = Message(Role.ASSISTANT, content)
        self.ledger.spans[-1] = replace(self.ledger.spans[-1], text_end=len(self.ledger))

    def evict(self, plan: Many[Interval]) -> bool:
        """Take the planned intervals out of the cache. False: everything was cleared instead."""
        removed = [positions for start, end in plan for positions in self.ledger.evict(start, end)]
        return self._apply_removal(removed)

    def compact(self) -> bool:
        """Close the gaps between positions; returns whether any cell moved."""
        moves = self.ledger.compact()
        for move in moves:
            self._context.shift(self.seq_id, move.start, move.end, move.delta)
        if moves and self._context.position_range(self.seq_id) != self._expected_range():
            raise BugError("The cache did not move the positions that it had promised to move.")
        return bool(moves)

    def clear(self) -> None:
        """Free all cells and begin a new ledger."""
        self._context.remove(self.seq_id, -1, -1)  # a whole sequence can always be removed
        self.ledger = Ledger()
        self.seen = {}
        self.pins = Pins()
        self.pending = []

    def restart(self, ids: Many[int], unread: Many[Interval] = ()) -> None:
        """Begin a new ledger with `ids`, keeping the cells that hold the same ids from the beginning.

        The tokens in `unread` belong to the chat, but are left out of the cache as if they had been
        evicted. The last token is always queued, since its logits are needed.
        """
        known = self._resident_prefix()
        todo = _gaps(unread, len(ids))
        wanted = [ids[offset] for start, end in todo for offset in range(start, end)]
        reused = 0
        while reused < min(len(known), len(wanted) - 1) and known[reused] == wanted[reused]:
            reused += 1
        self.ledger = Ledger()
        self.ledger.append(ids)
        self.seen = {}
        self.pins = Pins()
        kept, self.pending = _split(todo, reused)
        for start, end in kept:
            self.ledger.mark_decoded(start, end)
        if not reused:
            self._context.remove(self.seq_id, -1, -1)
        elif not self._apply_removal([(reused, -1)]):
            self.pending = todo

    # --- cells of others ---

    def copy(self, other: Sequence) -> None:
        """Become what `other` is, and share all its cells."""
        self.clear()
        self._context.copy(other.seq_id, self.seq_id)
        self.ledger = other.ledger.fork()
        self.seen, self.pins, self.half_character = dict(other.seen), other.pins, other.half_character

    def take_own_cells(self) -> bool:
        """Let no cell be shared any more. False: there was no room for that, and all had to be given up.

        Positions of shared cells would move for all who share them, silently.
        """
        state = self.state()
        self._context.remove(self.seq_id, -1, -1)
        done = self._context.restore(self.seq_id, state)
        if done and self._context.position_range(self.seq_id) == self._expected_range():
            self.ledger.own()
            return True
        self.evict_and_evaluate_again(())
        return False

    # --- on disk ---

    @property
    def state_bytes(self) -> int:
        """How large `state` would be."""
        return self._context.state_bytes(self.seq_id)

    def state(self) -> bytes:
        """What llama.cpp keeps in the cells, for `restore`."""
        return self._context.save(self.seq_id)

    def restore(self, saved: SavedSequence) -> bool:
        """Become what was saved. False: its cells do not fit in here, and the sequence is empty."""
        self.clear()
        if not self._context.restore(self.seq_id, saved.state):
            return False
        self.ledger = Ledger.of(saved.ids, saved.spans, saved.runs)
        self.seen, self.pins, self.half_character = dict(saved.seen), saved.pins, saved.half_character
        if self._context.position_range(self.seq_id) == self._expected_range():
            return True
        self.clear()
        return False

    def _resident_prefix(self) -> list[int]:
        """Resident ids whose positions count up from 0 without a gap."""
        ids: list[int] = []
        for run in self.ledger.runs:
            if run.position != len(ids):
                break
            ids += self.ledger.ids[run.start : run.end]
        return ids

    def evict_and_evaluate_again(self, plan: Many[Interval]) -> None:
        """For a cache that cannot drop its middle: clear it and queue all that is to stay."""
        for start, end in plan:
            self.ledger.evict(start, end)
        self.pending = _joined([*((run.start, run.end) for run in self.ledger.runs), *self.pending])
        self._context.remove(self.seq_id, -1, -1)
        self.ledger.lose_cells()

    def _apply_removal(self, positions: Many[Interval]) -> bool:
        """Remove positions and check that the cache holds just what the ledger says.

        A sliding-window cache may answer True and be empty afterwards, and a recurrent one may
        ignore a removal in its middle (ggml-org/llama.cpp#9170), so the range is asked for too.
        """
        if not positions:
            return True  # a recurrent state has one position, which is not the range that is expected
        done = all(self._context.remove(self.seq_id, start, end) for start, end in positions)
        if done and self._context.position_range(self.seq_id) == self._expected_range():
            return True
        self._context.remove(self.seq_id, -1, -1)
        self.ledger.lose_cells()
        return False

    def _expected_range(self) -> Interval:
        runs = self.ledger.runs
        return (runs[0].position, runs[-1].positions[1] - 1) if runs else (-1, -1)


def _extend_turns(turns: list[Interval], start: int, end: int, starts_turn: bool) -> None:
    """Join [start, end) to the last turn, unless a new one begins or something lies between."""
    if turns and not starts_turn and turns[-1][1] == start:
        turns[-1] = (turns[-1][0], end)
    else:
        turns.append((start, end))


def _joined(intervals: Many[Interval]) -> list[Interval]:
    joined: list[Interval] = []
    for start, end in intervals:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _gaps(intervals: Many[Interval], length: int) -> list[Interval]:
    """What of [0, length) lies between the `intervals`, which are in order."""
    bounds = [0, *(bound for interval in intervals for bound in interval), length]
    return [(start, end) for start, end in zip(bounds[::2], bounds[1::2], strict=True) if start < end]


def _split(intervals: Many[Interval], count: int) -> tuple[list[Interval], list[Interval]]:
    """The first `count` tokens of the `intervals`, and the others."""
    first: list[Interval] = []
    others: list[Interval] = []
    for start, end in intervals:
        border = start + min(count, end - start)
        count -= border - start
        if start < border:
            first.append((start, border))
        if border < end:
            others.append((border, end))
    return first, others
