"""The best tokens of a vocabulary, found without llama.cpp, against sorting them all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from engine.llama.candidates import Candidates

Row = npt.NDArray[np.float32]


def ids_of(candidates: Candidates, logits: Row) -> list[int] | None:
    found = candidates.best(logits)
    if found is None:
        return None
    assert [found.data[place].logit for place in range(found.size)] == [
        logits[found.data[place].id] for place in range(found.size)
    ]
    return [found.data[place].id for place in range(found.size)]


@given(
    logits=arrays.arrays(
        np.float32,
        st.integers(64, 700),
        elements=st.floats(-50, 50, width=32) | st.sampled_from([0.0, 1.0, -np.inf]),
    ),
    n_best=st.integers(1, 12),
)
@settings(max_examples=300, deadline=None)
def test_nothing_that_is_left_out_is_better_than_the_best(logits: Row, n_best: int) -> None:
    ids = ids_of(Candidates(len(logits), n_best), logits)
    if ids is None:
        assert len(logits) // 64 < n_best
        return
    assert len(set(ids)) == len(ids) >= n_best
    worst_of_best = np.sort(logits)[-n_best]
    left_out = np.delete(logits, ids)
    assert not len(left_out) or left_out.max() < worst_of_best


@pytest.mark.parametrize("n_vocab", [49_152, 151_936, 151_937])
@pytest.mark.parametrize("n_best", [1, 40, 200])
def test_few_are_looked_at(n_vocab: int, n_best: int) -> None:
    logits = np.random.default_rng(n_best).normal(0, 3, n_vocab).astype(np.float32)
    ids = ids_of(Candidates(n_vocab, n_best), logits)
    assert ids is not None and n_best <= len(ids) < 1.3 * n_best + 3
    assert set(np.argsort(logits)[-n_best:]) <= set(ids)


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 0.0])
def test_what_cannot_be_told_apart_is_left_to_llama_cpp(strange: float) -> None:
    logits = np.full(49_152, strange, dtype=np.float32)
    assert ids_of(Candidates(len(logits), 40), logits) is None


def test_values_that_are_no_numbers_are_left_to_llama_cpp() -> None:
    logits = np.random.default_rng(0).normal(0, 3, 49_152).astype(np.float32)
    logits[::7] = np.nan
    assert ids_of(Candidates(len(logits), 40), logits) is None


def test_each_answer_is_of_its_own_row() -> None:
    logits = np.random.default_rng(0).normal(0, 3, 49_152).astype(np.float32)
    candidates = Candidates(len(logits), 1)
    assert ids_of(candidates, logits) == [int(logits.argmax())]
    logits[17] = 100.0
    assert ids_of(candidates, logits) == [17]
