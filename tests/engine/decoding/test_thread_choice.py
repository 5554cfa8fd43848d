"""The choice of threads on simulated machines: what a step costs with n threads is a formula here."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoding.thread_choice import ThreadChoice, ladder

STEP_SECONDS = 0.0175  # with one thread


class Machine:
    """`n_cores`, of which `busy(seconds)` are taken by others; `parallel` is the part that threads share.

    As measured on two cores: with one of them taken, two threads need 2.87 times as long.
    """

    def __init__(
        self,
        n_cores: int,
        busy: Callable[[float], int] = lambda seconds: 0,
        *,
        parallel: float = 0.69,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.n_cores, self._busy, self._parallel = n_cores, busy, parallel
        self._noise, self._random = noise, random.Random(seed)
        self.seconds = self.seconds_at_best = 0.0
        self.changes: list[tuple[float, int]] = []  # when, to which number

    def seconds_with(self, n_threads: int, n_tokens: int = 1) -> float:
        shared = (1 - self._parallel) + self._parallel / n_threads
        is_crowded = n_threads > self.n_cores - self._busy(self.seconds)
        return STEP_SECONDS * (1 + n_tokens / 10) * shared * (2.87 if is_crowded else 1.0)

    def decode(
        self, choice: ThreadChoice, n_steps: int, n_tokens: Callable[[int], int] = lambda _: 1
    ) -> None:
        """Let it choose for so many steps."""
        for step in range(n_steps):
            n_threads, before = choice.before_decode(n_tokens(step), 0), choice.n_threads
            luck = self._random.lognormvariate(0, self._noise)
            luck *= 3 if self._noise and self._random.random() < 0.01 else 1
            costs = {n: luck * self.seconds_with(n, n_tokens(step)) for n in range(1, self.n_cores + 1)}
            choice.measured(n_tokens(step), 0, costs[n_threads])
            self.seconds += costs[n_threads]
            self.seconds_at_best += min(costs.values())
            if choice.n_threads != before:
                self.changes.append((self.seconds, choice.n_threads))


def test_ladder_has_all_cores_one_less_and_one() -> None:
    assert ladder(1) == [1]
    assert ladder(2) == [2, 1]
    assert ladder(8) == [8, 7, 6, 5, 4, 3, 2, 1]
    assert ladder(24)[:5] == [24, 23, 18, 14, 11]


@pytest.mark.parametrize("n_cores", [1, 2, 4, 8, 24])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1])
def test_on_an_idle_machine_trials_cost_less_than_two_percent(n_cores: int, noise: float) -> None:
    machine = Machine(n_cores, noise=noise)
    machine.decode(ThreadChoice(n_cores), 3000)
    assert machine.seconds_at_best / machine.seconds >= 0.98
    assert len(machine.changes) <= 2


@pytest.mark.parametrize("n_cores", [2, 4, 8, 24])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1])
def test_beside_a_busy_program_one_core_less_is_found(n_cores: int, noise: float) -> None:
    machine, choice = Machine(n_cores, lambda seconds: 1, noise=noise), ThreadChoice(n_cores)
    machine.decode(choice, 3000)
    assert choice.n_threads == n_cores - 1
    assert machine.seconds_at_best / machine.seconds >= 0.98
    assert machine.changes[0][0] < 1.0
    assert len(machine.changes) <= 3


@pytest.mark.parametrize("seed", range(5))
def test_it_follows_a_program_that_begins_and_ends(seed: int) -> None:
    machine = Machine(2, lambda seconds: int(5 < seconds < 10), noise=0.05, seed=seed)
    choice = ThreadChoice(2)
    machine.decode(choice, 1500)
    (began, fewer), (ended, more) = machine.changes
    assert (fewer, more) == (1, 2)
    assert 5 < began < 6
    assert 10 < ended < 15


def test_with_half_of_the_cores_taken_it_goes_down_further_than_a_step() -> None:
    machine, choice = Machine(8, lambda seconds: 4 * int(seconds > 3)), ThreadChoice(8)
    machine.decode(choice, 1000)
    assert choice.n_threads == 4


def test_slow_cores_that_hold_the_others_up_are_left_out() -> None:
    class UnequalCores(Machine):
        """Four fast cores and four that need three times as long for their share."""

        def seconds_with(self, n_threads: int, n_tokens: int = 1) -> float:
            return super().seconds_with(n_threads, n_tokens) * (3 if n_threads > 4 else 1)

    machine, choice = UnequalCores(8, parallel=0.8), ThreadChoice(8)
    machine.decode(choice, 1000)
    assert choice.n_threads == 4


def test_a_single_long_step_changes_nothing() -> None:
    choice = ThreadChoice(2)
    for step in range(400):
        n_threads = choice.before_decode(1, 0)
        choice.measured(1, 0, 5.0 if step % 50 == 49 else 0.010 if n_threads == 2 else 0.015)
        assert choice.n_threads == 2


def test_steps_are_compared_with_those_of_the_same_size() -> None:
    machine, choice = Machine(2, lambda seconds: int(seconds > 4)), ThreadChoice(2)
    machine.decode(choice, 1000, n_tokens=lambda step: (1, 9, 3)[step % 3])
    assert choice.n_threads == 1
    assert len(machine.changes) == 1


def test_a_program_that_began_between_two_replies_is_noticed_within_a_second() -> None:
    machine, choice = Machine(2, lambda seconds: int(seconds > 20), noise=0.05), ThreadChoice(2)
    machine.decode(choice, 1000)
    assert not machine.changes
    machine.seconds = began = 21.0
    choice.measured(0, 256, 1.0)
    machine.decode(choice, 100)
    [(changed, n_threads)] = machine.changes
    assert n_threads == 1
    assert changed - began < 1.0


def test_prompts_take_all_cores_and_teach_nothing() -> None:
    machine, choice = Machine(4, lambda seconds: 1), ThreadChoice(4)
    machine.decode(choice, 500)
    assert choice.n_threads == 3
    assert choice.before_decode(0, 256) == 4
    assert choice.before_decode(1, 64) == 4
    choice.measured(1, 64, 10.0)
    assert choice.before_decode(1, 0) == 3
    assert choice.n_threads == 3


@given(
    n_most=st.integers(1, 40),
    steps=st.lists(st.tuples(st.integers(1, 4), st.just(0.0) | st.floats(1e-6, 1e3)), max_size=300),
)
def test_any_times_keep_it_between_one_and_all(n_most: int, steps: list[tuple[int, float]]) -> None:
    choice = ThreadChoice(n_most)
    for n_tokens, seconds in steps:
        assert 1 <= choice.before_decode(n_tokens, 0) <= n_most
        choice.measured(n_tokens, 0, seconds)
        assert choice.n_threads in ladder(n_most)
