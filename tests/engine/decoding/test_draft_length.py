"""How many tokens are drafted, on simulated machines and texts: it pays, stops, tries again, loses little."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from engine.decoding.draft_length import Acceptance, Prospect, Purse, best_length
from engine.decoding.step_costs import StepCosts

PLAIN = 0.01


def two_cores(n_tokens: int) -> float:
    """As SmolLM2 there: a batch of eight takes five steps."""
    return PLAIN * (1 + 4 / 7 * (n_tokens - 1))


def graphics_card(n_tokens: int) -> float:
    return PLAIN * (1 + 0.02 * (n_tokens - 1))


def known_costs(cost: Callable[[int], float]) -> StepCosts:
    """Costs that were measured often."""
    costs = StepCosts()
    for size in (1, 2, 3, 5, 9, 17):
        for _ in range(40):
            costs.measured(size, cost(size), is_plain=False)
    return costs


class Run:
    """Decodes with drafts of which each token is right with the likelihood that the text has just now."""

    def __init__(self, cost: Callable[[int], float], expected: float = 0.8, n_others: int = 0) -> None:
        self.random = random.Random(1)
        self.cost, self.n_others = cost, n_others
        self.costs, self.purse, self.acceptance = StepCosts(), Purse(), Acceptance(expected)
        self.lengths: list[int] = []
        for _ in range(3):
            self.costs.measured(1 + n_others, self._noisy(1 + n_others), is_plain=True)

    def _noisy(self, n_tokens: int) -> float:
        return self.cost(n_tokens) * self.random.uniform(0.9, 1.1)

    def gain(self, n_tokens: int, likelihood: float) -> float:
        """How many times as fast as plain decoding `n_tokens` came."""
        seconds, n_done, plain_size = 0.0, 0, 1 + self.n_others
        while n_done < n_tokens:
            prospect = Prospect(self.acceptance.likelihood, 16, self.n_others)
            length = best_length(prospect, self.costs, self.purse)
            self.lengths.append(length)
            took = self._noisy(plain_size + length)
            seconds += took
            self.costs.measured(plain_size + length, took, is_plain=not length)
            plain = self.costs.seconds(plain_size)
            n_right = next((i for i in range(length) if self.random.random() >= likelihood), length)
            n_done += n_right + 1
            if length:
                self.acceptance.learn(length, n_right)
                lost = self.costs.seconds(plain_size + length) - plain
                self.purse.settle(n_right * plain / plain_size - lost, plain)
            else:
                self.acceptance.fade(1)
                self.purse.went_plain(plain)
        return n_done * self.cost(plain_size) / seconds


def test_a_copy_pays_on_two_cores_and_more_on_a_card() -> None:
    assert Run(two_cores).gain(200, 0.97) > 1.2
    run = Run(graphics_card)
    assert run.gain(300, 0.97) > 5
    assert max(run.lengths) == 16


@pytest.mark.parametrize("likelihood", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("expected", [0.3, 0.8, 0.95])
def test_text_that_is_new_costs_nearly_nothing(likelihood: float, expected: float) -> None:
    assert Run(two_cores, expected).gain(200, likelihood) > 0.97


def test_drafts_that_are_wrong_stop_and_are_tried_again() -> None:
    run = Run(two_cores)
    run.gain(300, 0.0)
    stopped = run.lengths[-100:]
    assert sum(map(bool, stopped)) <= 3
    n_before = len(run.lengths)
    assert run.gain(1500, 0.98) > 1.1
    assert sum(map(bool, run.lengths[n_before:])) > 50


def test_what_was_won_is_not_gambled_away() -> None:
    run = Run(two_cores)
    run.gain(500, 0.98)
    assert run.gain(300, 0.0) > 0.95


def test_the_length_follows_the_likelihood() -> None:
    costs, purse = known_costs(graphics_card), Purse()
    lengths = [best_length(Prospect(p, 16), costs, purse) for p in (0.01, 0.5, 0.8, 0.99)]
    assert lengths == sorted(lengths) and lengths[0] == 0 and lengths[-1] == 16


def test_the_time_of_a_draft_model_counts() -> None:
    costs, purse = known_costs(graphics_card), Purse()
    assert best_length(Prospect(0.8, 16, seconds_each=PLAIN / 20), costs, purse) > 2
    assert best_length(Prospect(0.8, 16, seconds_each=PLAIN), costs, purse) == 0


def test_others_never_wait_more_than_twice_as_long() -> None:
    costs, purse = known_costs(two_cores), Purse()
    length = best_length(Prospect(0.999, 16, n_others=1), costs, purse)
    assert two_cores(2 + length) <= 2 * two_cores(2)


def test_a_likelihood_is_what_was_seen_and_fades_to_what_is_expected() -> None:
    acceptance = Acceptance(0.5)
    for _ in range(100):
        acceptance.learn(4, 4)
    assert acceptance.likelihood > 0.95
    acceptance.learn(4, 0)
    assert acceptance.likelihood < 0.96
    acceptance.fade(1000)
    assert acceptance.likelihood == pytest.approx(0.5, abs=0.01)


# --- what a decode costs --------------------------------------------------------------------------


def test_costs_between_measured_sizes_lie_between_them() -> None:
    costs = StepCosts()
    assert costs.seconds(4) == 0.0
    costs.measured(1, 0.01, is_plain=True)
    assert costs.seconds(5) == pytest.approx(0.03)  # half of a step each, until something is known
    costs.measured_prompt(64, 0.064)
    assert costs.seconds(5) == pytest.approx(0.014)
    for _ in range(40):
        costs.measured(9, 0.05, is_plain=False)
    assert costs.seconds(5) == pytest.approx(0.03, rel=0.01)
    assert costs.seconds(13) == pytest.approx(0.054, rel=0.01)
    assert costs.seconds(1) == 0.01


def test_all_costs_follow_a_machine_that_slows_down() -> None:
    costs = StepCosts()
    for _ in range(10):
        costs.measured(1, 0.01, is_plain=True)
    for _ in range(40):
        costs.measured(8, 0.05, is_plain=False)
    for _ in range(40):
        costs.measured(1, 0.03, is_plain=True)
    assert costs.seconds(1) == pytest.approx(0.03, rel=0.05)
    assert costs.seconds(8) == pytest.approx(0.15, rel=0.15)


def test_what_fell_into_a_bad_moment_is_doubted_later() -> None:
    costs = StepCosts()
    for _ in range(10):
        costs.measured(1, 0.01, is_plain=True)
    for _ in range(3):
        costs.measured(2, 0.1, is_plain=False)
    bad = costs.seconds(2)
    for _ in range(500):
        costs.measured(1, 0.01, is_plain=True)
    assert 0.0125 < costs.seconds(2) < bad / 1.5


def test_one_long_pause_changes_little() -> None:
    costs = StepCosts()
    for _ in range(20):
        costs.measured(1, 0.01, is_plain=True)
    costs.measured(1, 5.0, is_plain=True)
    assert costs.seconds(1) < 0.012
