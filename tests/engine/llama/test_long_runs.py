"""No piece of text holds a run that is too long for the tokenizer's stack, and none of it is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.llama.long_runs import without_long_runs

runs = st.lists(st.tuples(st.sampled_from(["x", " ", "\n", "word ", "漢"]), st.integers(1, 4000)), max_size=6)


@given(runs)
def test_the_pieces_make_up_the_text_and_hold_no_long_run(runs: list[tuple[str, int]]) -> None:
    text = "".join(unit * count for unit, count in runs)
    pieces = list(without_long_runs(text))
    assert "".join(pieces) == text
    assert not any(re.search(r"\S{2000}|\s{2000}", piece) for piece in pieces)


@pytest.mark.parametrize("text", ["", "word " * 100_000, ("x" * 900 + "\n") * 50])
def test_text_with_borders_stays_whole(text: str) -> None:
    assert list(without_long_runs(text)) == [text]
