"""Eviction is arithmetic: whatever the turns, a plan frees what is needed and no more than a step beyond."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoding.kv_window import Interval, Occupancy, plan_eviction
from engine.errors import BugError


@st.composite
def occupancies(draw: st.DrawFn) -> tuple[Occupancy, int]:
    """A cache that is filled within its capacity, and a number of tokens that fit beside the sinks."""
    capacity = draw(st.integers(8, 2000))
    sinks = draw(st.integers(0, capacity - 1))
    left, offset = capacity - sinks, sinks + draw(st.integers(0, 50))
    turns: list[Interval] = []
    while left > 0 and draw(st.booleans()):
        size = draw(st.integers(1, left))
        turns.append((offset, offset + size))
        offset += size + draw(st.integers(0, 3))
        left -= size
    turns.append((offset, offset + draw(st.integers(0, left))))
    return Occupancy(capacity, sinks, turns), draw(st.integers(0, capacity - sinks))


def size(interval: Interval) -> int:
    return interval[1] - interval[0]


def total(plan: list[Interval]) -> int:
    return sum(map(size, plan))


@given(occupancies())
def test_what_is_to_come_fits_after_the_plan(case: tuple[Occupancy, int]) -> None:
    occupancy, n_coming = case
    plan = plan_eviction(occupancy, n_coming)
    assert occupancy.resident - total(plan) + n_coming <= occupancy.capacity


@given(occupancies())
def test_sinks_are_never_evicted_and_order_is_kept(case: tuple[Occupancy, int]) -> None:
    occupancy, n_coming = case
    plan = plan_eviction(occupancy, n_coming)
    assert plan == sorted(plan)
    for part, turn in zip(plan, occupancy.turns, strict=False):
        assert part[0] == turn[0] and part[1] <= turn[1]  # oldest first, each from its beginning
    for part, turn in zip(plan[:-1], occupancy.turns, strict=False):
        assert part == turn  # only the last one may be cut


@given(occupancies())
def test_only_the_current_turn_and_one_that_is_too_long_are_cut(case: tuple[Occupancy, int]) -> None:
    occupancy, n_coming = case
    plan = plan_eviction(occupancy, n_coming)
    if not plan or plan[-1] in occupancy.turns:
        return
    turn = occupancy.turns[len(plan) - 1]
    assert turn == occupancy.turns[-1] or 2 * size(turn) > occupancy.capacity - occupancy.sinks
    deficit = occupancy.resident + n_coming - occupancy.capacity
    assert total(plan) == max(deficit, occupancy.step)


@given(occupancies())
def test_the_current_turn_is_touched_only_when_all_others_have_left(case: tuple[Occupancy, int]) -> None:
    occupancy, n_coming = case
    plan = plan_eviction(occupancy, n_coming)
    deficit = occupancy.resident + n_coming - occupancy.capacity
    if len(plan) == len(occupancy.turns):
        assert plan[:-1] == occupancy.turns[:-1] and total(plan[:-1]) < deficit


@given(occupancies())
def test_a_plan_is_minimal_up_to_one_step(case: tuple[Occupancy, int]) -> None:
    occupancy, n_coming = case
    plan = plan_eviction(occupancy, n_coming)
    deficit = occupancy.resident + n_coming - occupancy.capacity
    if deficit <= 0:
        assert plan == []
    else:
        without_last = total(plan[:-1])
        assert without_last < deficit or total(plan) <= max(deficit, occupancy.step)


def test_whole_turns_leave_up_to_a_quarter_of_the_window() -> None:
    turns = [(10 + 10 * i, 20 + 10 * i) for i in range(9)]
    assert plan_eviction(Occupancy(100, 10, turns), 1) == [(10, 20), (20, 30)]


def test_a_turn_longer_than_half_of_the_window_loses_only_its_oldest_tokens() -> None:
    turns = [(20, 30), (30, 71), (71, 90), (90, 90)]
    assert plan_eviction(Occupancy(100, 20, turns), 25) == [(20, 30), (30, 40)]  # a quarter in all
    assert plan_eviction(Occupancy(100, 20, turns), 55) == [(20, 30), (30, 65)]  # what is needed
    assert plan_eviction(Occupancy(100, 20, turns), 75) == [(20, 30), (30, 71), (71, 90)]
    half = [(20, 30), (30, 70), (70, 90), (90, 90)]
    assert plan_eviction(Occupancy(100, 20, half), 25) == [(20, 30), (30, 70)]  # half leaves whole


def test_a_turn_that_fills_the_window_loses_its_oldest_tokens() -> None:
    assert plan_eviction(Occupancy(100, 20, [(20, 100)]), 1) == [(20, 40)]


def test_planning_for_more_than_fits_beside_the_sinks_is_a_bug() -> None:
    with pytest.raises(BugError):
        plan_eviction(Occupancy(100, 60, [(60, 70)]), 41)
