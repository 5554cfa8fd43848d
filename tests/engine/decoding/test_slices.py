"""Prompts are read in slices that neither keep Stop waiting nor take more than half of the others' time."""

from __future__ import annotations

import pytest

from engine.decoding.slices import SliceSize

CAPACITY = 512


def read_alone(slices: SliceSize, rate: float, n_slices: int = 12) -> float:
    """Read a prompt at `rate` tokens a second; returns the seconds of the last slice."""
    seconds = 0.0
    for _ in range(n_slices):
        size = slices.size(beside_replies=False)
        seconds = size / rate
        slices.measured(size, 0, seconds)
    return seconds


@pytest.mark.parametrize("rate", [20.0, 200.0, 2_000.0, 50_000.0])
def test_slices_take_a_fraction_of_a_second_on_any_machine(rate: float) -> None:
    slices = SliceSize(CAPACITY)
    seconds = read_alone(slices, rate)
    size = slices.size(beside_replies=False)
    assert seconds <= 0.5 or size == 32
    assert seconds >= 0.15 or size == CAPACITY


@pytest.mark.parametrize("rate", [100.0, 400.0, 20_000.0])
@pytest.mark.parametrize("step", [0.005, 0.02, 0.1])
def test_replies_keep_half_of_their_speed_beside_a_prompt(rate: float, step: float) -> None:
    slices = SliceSize(CAPACITY)
    read_alone(slices, rate)
    for _ in range(10):
        slices.measured(0, 1, step)
    seconds, n_tokens, n_read, longest = 0.0, 0, 0, 0.0
    for _ in range(2000):
        n_prompt = 0 if slices.is_owed else slices.size(beside_replies=True)
        took = step + n_prompt / rate
        slices.measured(n_prompt, 1, took)
        seconds, n_tokens, n_read = seconds + took, n_tokens + 1, n_read + n_prompt
        longest = max(longest, took)
    assert n_tokens / seconds >= 0.5 / step * 0.99
    assert longest <= 0.25 + step
    assert n_read / seconds >= min(0.25 * rate, 200)  # and the prompt is read meanwhile


def test_prompt_alone_owes_nothing_for_what_was_beside_replies() -> None:
    slices = SliceSize(CAPACITY)
    slices.measured(0, 1, 0.01)
    slices.measured(64, 1, 0.5)
    assert slices.is_owed
    slices.measured(64, 0, 0.5)
    assert not slices.is_owed
