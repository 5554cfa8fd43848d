"""What is made of single log-probabilities: perplexities over the right tokens, and memory."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from engine.measure.record import Record


def filled(n_tokens: int, log_probabilities: list[float], slice_size: int = 64) -> Record:
    """A record of a text of `n_tokens`; the values belong to its tokens 1, 2, ..."""
    record = Record(n_tokens)
    for start in range(0, n_tokens, slice_size):
        end = min(start + slice_size, n_tokens)
        record.add(log_probabilities[start : min(end, n_tokens - 1)], end)
    return record


def test_each_thousand_has_its_own_perplexity() -> None:
    record = filled(2500, [math.log(1 / 4)] * 999 + [math.log(1 / 8)] * 1000 + [math.log(1 / 16)] * 500)
    assert record.perplexity == pytest.approx((4, 8))


def test_the_second_half_begins_in_the_middle_of_what_was_read() -> None:
    values = list(np.random.default_rng(0).uniform(-6, -1, 1399))
    record = filled(1400, values)
    assert record.perplexity_second_half == pytest.approx(math.exp(-np.mean(values[699:])), rel=1e-5)


def test_an_ended_run_tells_of_what_was_read_only() -> None:
    record = Record(5000)
    record.add([math.log(1 / 2)] * 600, 600)
    record.add([], 600)  # the window was read again
    record.add([math.log(1 / 2)] * 500, 1100)
    assert record.perplexity == pytest.approx((2,))
    assert record.perplexity_second_half == pytest.approx(2)


def test_without_a_prediction_there_is_no_perplexity() -> None:
    assert Record(10).perplexity_second_half is None
    assert filled(1, []).perplexity_second_half is None
    assert filled(1, []).perplexity == ()


def test_growth_is_measured_after_the_first_two_thousand_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = iter([100, 900, 1000, 1040, 1010])
    process = SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=next(samples)))
    monkeypatch.setattr(psutil, "Process", lambda: process)
    record = Record(3000)
    record.add([-1.0], 1999)
    assert [record.rss_growth_bytes] == [None]
    for n_done in (2000, 2001, 2002):
        record.add([-1.0], n_done)
    assert (record.rss_growth_bytes, record.peak_rss_bytes, record.rss_bytes) == (40, 1040, 1010)
