"""How long a benchmark will still take, from what was measured."""

from __future__ import annotations

import pytest

from engine.measure.bench_pace import Pace
from engine.protocol import BenchCase

PROMPT, REPLY = BenchCase(n_prompt=100), BenchCase(n_gen=10)


def test_nothing_is_known_before_a_run_was_measured() -> None:
    pace = Pace((PROMPT,), 2, warm_up=True)
    pace.done(PROMPT, 0.0)
    assert pace.seconds_left is None and (pace.n_done, pace.n_total) == (1, 3)


def test_runs_that_are_left_take_as_long_as_the_last_one() -> None:
    pace = Pace((PROMPT,), 4, warm_up=False)
    pace.done(PROMPT, 2.0)
    assert pace.seconds_left == pytest.approx(6.0)


def test_prompts_and_replies_have_their_own_speed() -> None:
    pace = Pace((PROMPT, REPLY, BenchCase(n_prompt=50, n_gen=20)), 1, warm_up=False)
    pace.done(PROMPT, 1.0)
    pace.done(REPLY, 5.0)
    assert pace.seconds_left == pytest.approx(50 * 0.01 + 20 * 0.5)


def test_a_depth_is_read_once() -> None:
    pace = Pace((PROMPT, BenchCase(n_prompt=100, n_depth=1000)), 2, warm_up=False)
    pace.done(PROMPT, 1.0)
    pace.done(PROMPT, 1.0)
    assert pace.seconds_left == pytest.approx(2 * 1.0 + 10.0)


def test_nothing_is_left_in_the_end() -> None:
    pace = Pace((BenchCase(n_prompt=10, n_gen=10),), 1, warm_up=False)
    pace.done(BenchCase(n_prompt=10, n_gen=10), 3.0)
    assert pace.seconds_left == 0.0
