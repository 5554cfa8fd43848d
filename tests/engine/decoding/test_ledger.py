"""The ledger always knows which token lies at which position; checked against a cache of its own kind."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.decoding.ledger import Ledger, Move
from engine.errors import BugError


class LedgerMachine(RuleBasedStateMachine):
    """Applies to a dictionary of positions what the ledger answers, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.cache: dict[int, int] = {}
        self.n_appended = 0

    @rule(count=st.integers(1, 40))
    def append_and_decode(self, count: int) -> None:
        start = len(self.ledger)
        ids = list(range(self.n_appended, self.n_appended + count))  # every token is unique
        self.n_appended += count
        self.ledger.append(ids)
        position = self.ledger.next_position
        self.cache |= {position + i: token for i, token in enumerate(ids)}
        self.ledger.mark_decoded(start, start + count)

    @precondition(lambda self: len(self.ledger) > 1)
    @rule(data=st.data())
    def evict(self, data: st.DataObject) -> None:
        start = data.draw(st.integers(0, len(self.ledger) - 1))
        end = data.draw(st.integers(start, len(self.ledger)))
        self._remove(self.ledger.evict(start, end))

    @precondition(lambda self: len(self.ledger) > 1)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        self._remove(self.ledger.truncate(data.draw(st.integers(0, len(self.ledger)))))

    @rule()
    def compact(self) -> None:
        for move in self.ledger.compact():
            moved = {p + move.delta: t for p, t in self.cache.items() if move.start <= p < move.end}
            kept = {p: t for p, t in self.cache.items() if not move.start <= p < move.end}
            assert not moved.keys() & kept.keys()  # a move never lands on a live cell
            self.cache = kept | moved
        assert sorted(self.cache) == list(range(len(self.cache)))

    def _remove(self, intervals: list[tuple[int, int]]) -> None:
        for start, end in intervals:
            for position in range(start, end):
                del self.cache[position]  # KeyError: the ledger named a position that was free

    @invariant()
    def ledger_and_cache_agree(self) -> None:
        known = {
            run.position + i: self.ledger.ids[run.start + i]
            for run in self.ledger.runs
            for i in range(run.size)
        }
        assert known == self.cache
        assert self.ledger.n_resident == len(self.cache)
        assert self.ledger.next_position == max(self.cache, default=-1) + 1


LedgerMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestLedgerAgainstCache = LedgerMachine.TestCase


def ledger_of(count: int) -> Ledger:
    ledger = Ledger()
    ledger.append(range(count))
    ledger.mark_decoded(0, count)
    return ledger


def test_eviction_keeps_offsets_and_positions() -> None:
    ledger = ledger_of(100)
    assert ledger.evict(10, 40) == [(10, 40)]
    assert ledger.resident_in(0, 100) == [(0, 10), (40, 100)]
    assert (len(ledger), ledger.n_resident, ledger.next_position) == (100, 70, 100)


def test_compacting_closes_the_gap_with_one_move() -> None:
    ledger = ledger_of(100)
    ledger.evict(10, 40)
    assert ledger.compact() == [Move(40, 100, -30)]
    assert ledger.next_position == 70
    assert ledger.compact() == []


def test_common_prefix_counts_equal_ids_from_an_offset() -> None:
    ledger = ledger_of(10)
    assert ledger.common_prefix(4, [4, 5, 6, 0]) == 3
    assert ledger.common_prefix(8, [8, 9, 10]) == 2
    assert ledger.common_prefix(10, [1]) == 0


def test_truncation_forgets_spans_and_undecoded_tokens() -> None:
    ledger = Ledger()
    ledger.open_span(0)
    ledger.append([1, 2, 3])
    ledger.open_span(1)
    ledger.append([4, 5])
    ledger.mark_decoded(0, 3)
    assert ledger.truncate(3) == []
    assert [span.message for span in ledger.spans] == [0]
    assert ledger.truncate(2) == [(2, 3)]


def test_decoding_out_of_order_is_a_bug() -> None:
    with pytest.raises(BugError):
        ledger_of(5).mark_decoded(3, 5)
