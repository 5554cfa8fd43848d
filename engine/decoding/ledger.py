"""The ledger: every token of a sequence in order, whose message it is, and which are in the cache.

Token offsets count from the chat's beginning and never change meaning when tokens are evicted;
positions are what the cache knows. The ledger is the one owner of both: it answers what is
resident and where, and says which positions a change removes or moves. It never touches the cache
itself; the scheduler applies what it answers. Knows nothing about text or eviction policy.
"""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.errors import BugError

Interval = tuple[int, int]
"""Half-open range [start, end) of token offsets, or of positions where that is said."""


@dataclass(frozen=True, slots=True)
class Span:
    """The tokens of one message: from `start` to the next span's start or the ledger's end.

    `message` is its index in the chat, -1 for what a template puts before the first message.
    `is_sink` spans are never evicted. `starts_turn` marks a user's message: turns are evicted whole.
    `text_end`: of a reply, the offset behind the last token that the model chose, before anything
    closed it; None for what was rendered as a whole.
    """

    start: int
    message: int
    is_sink: bool = False
    starts_turn: bool = False
    text_end: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Tokens [start, end) that lie in the cache at the positions from `position` on.

    `generation` tells their cells from those that held the same offsets before: two ledgers share the cells
    of an offset if both have it in a run of one generation.
    """

    start: int
    end: int
    position: int
    generation: int = 0

    @property
    def size(self) -> int:
        """Number of tokens."""
        return self.end - self.start

    @property
    def positions(self) -> Interval:
        """The positions that the run occupies."""
        return self.position, self.position + self.size


@dataclass(frozen=True, slots=True)
class Move:
    """Positions [start, end) that have to move by `delta` to close a gap."""

    start: int
    end: int
    delta: int


_generations = itertools.count(1)


class Ledger:
    """Tokens, spans and residency of one sequence; see the module's docstring."""

    def __init__(self) -> None:
        self.ids: array[int] = array("i")
        self.spans: list[Span] = []
        self.runs: list[Run] = []
        self._generation = next(_generations)

    @classmethod
    def of(cls, ids: Sequence[int], spans: Sequence[Span], runs: Sequence[Run]) -> Ledger:
        """The ledger that said this once, of cells that were put back."""
        ledger = cls()
        ledger.ids, ledger.spans, ledger.runs = array("i", ids), list(spans), list(runs)
        ledger.own()
        return ledger

    def fork(self) -> Ledger:
        """One that says the same about the same cells, and goes its own way from here on."""
        forked = Ledger()
        forked.ids, forked.spans, forked.runs = self.ids[:], list(self.spans), list(self.runs)
        return forked

    def own(self) -> None:
        """The cells are no other ledger's any more: what was shared lies in cells of its own."""
        self._generation = next(_generations)
        self.runs = [replace(run, generation=self._generation) for run in self.runs]

    def __len__(self) -> int:
        return len(self.ids)

    # --- what is where ---

    @property
    def n_resident(self) -> int:
        """Tokens in the cache."""
        return sum(run.size for run in self.runs)

    @property
    def next_position(self) -> int:
        """The position that the next decoded token takes."""
        return self.runs[-1].positions[1] if self.runs else 0

    @property
    def end_decoded(self) -> int:
        """Offset behind the last token that is in the cache."""
        return self.runs[-1].end if self.runs else 0

    @property
    def window_start(self) -> int:
        """Offset of the first resident token behind the last gap that eviction left."""
        ends = [0, *(run.end for run in self.runs)]
        gaps = [run.start for before, run in zip(ends, self.runs, strict=False) if before < run.start]
        return gaps[-1] if gaps else self.end_decoded

    def span_end(self, index: int) -> int:
        """Offset behind the last token of span `index`."""
        return self.spans[index + 1].start if index + 1 < len(self.spans) else len(self.ids)

    def span_at(self, offset: int) -> int:
        """Index of the span that holds the token at `offset`."""
        return bisect_right(self.spans, offset, key=lambda span: span.start) - 1

    def resident_in(self, start: int, end: int) -> list[Interval]:
        """The parts of [start, end) that are in the cache."""
        clipped = ((max(run.start, start), min(run.end, end)) for run in self.runs)
        return [(low, high) for low, high in clipped if low < high]

    def n_resident_in(self, start: int, end: int) -> int:
        """How many of the tokens [start, end) are in the cache."""
        return sum(high - low for low, high in self.resident_in(start, end))

    def size_of(self, index: int) -> int:
        """Tokens of span `index`."""
        return self.span_end(index) - self.spans[index].start

    def is_whole(self, index: int) -> bool:
        """True if all tokens of span `index` that were ever decoded are in the cache."""
        start, end = self.spans[index].start, self.span_end(index)
        decoded_end = min(end, max(start, self.end_decoded))
        return self.n_resident_in(start, decoded_end) == decoded_end - start

    def common_prefix(self, offset: int, ids: Sequence[int]) -> int:
        """How many of `ids` equal the tokens from `offset` on."""
        count = 0
        for known, new in zip(self.ids[offset : offset + len(ids)], ids, strict=False):
            if known != new:
                break
            count += 1
        return count

    # --- growing ---

    def open_span(self, message: int, *, is_sink: bool = False, starts_turn: bool = False) -> None:
        """Let the tokens from here on belong to `message`."""
        self.spans.append(Span(len(self.ids), message, is_sink, starts_turn))

    def append(self, ids: Sequence[int]) -> None:
        """Add tokens that are not in the cache yet."""
        self.ids.extend(ids)

    def mark_decoded(self, start: int, end: int) -> None:
        """The tokens [start, end) are in the cache now, at `next_position` and after."""
        if start < self.end_decoded or end > len(self.ids):
            raise BugError(f"Tokens {start} to {end} were decoded out of order.")
        if self.runs and self.runs[-1].end == start and self.runs[-1].generation == self._generation:
            self.runs[-1] = replace(self.runs[-1], end=end)
        else:
            self.runs.append(Run(start, end, self.next_position, self._generation))

    # --- shrinking: each answers the positions that the cache has to give up ---

    def truncate(self, length: int) -> list[Interval]:
        """Forget all tokens from offset `length` on; returns their positions, for removal."""
        removed = self._drop(length, max(length, self.end_decoded))
        del self.ids[length:]
        self.spans = [span for span in self.spans if span.start < length]
        return removed

    def evict(self, start: int, end: int) -> list[Interval]:
        """Take [start, end) out of the cache, not out of the chat; returns their positions."""
        return self._drop(start, end)

    def _drop(self, start: int, end: int) -> list[Interval]:
        removed: list[Interval] = []
        kept: list[Run] = []
        for run in self.runs:
            low, high = max(run.start, start), min(run.end, end)
            if low >= high:
                kept.append(run)
                continue
            first = run.position + low - run.start
            removed.append((first, first + high - low))
            if run.start < low:
                kept.append(replace(run, end=low))
            if high < run.end:
                kept.append(replace(run, start=high, position=first + high - low))
        end_before, self.runs = self.end_decoded, kept
        if self.end_decoded < end_before:  # the same offsets may be decoded again, into other cells
            self._generation = next(_generations)
        return removed

    def lose_cells(self) -> None:
        """Nothing is in the cache any more."""
        self.runs = []
        self._generation = next(_generations)

    def compact(self) -> list[Move]:
        """Close all gaps between positions; returns the moves in the order to apply them."""
        moves: list[Move] = []
        compacted: list[Run] = []
        position = 0
        for run in self.runs:
            if run.position != position:
                moves.append(Move(*run.positions, position - run.position))
            compacted.append(replace(run, position=position))
            position += run.size
        self.runs = compacted
        return moves
