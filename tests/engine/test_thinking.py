"""A thought is told from the answer, in the whole text and while it grows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.thinking import Thinking, ThoughtWatch, split_thinking

MARKERS = ["<think>", "</think>", "<thinking>", "</thinking>", "[THINK]", "[/THINK]", "<|end|>", "<thi"]
texts = st.lists(st.sampled_from([*MARKERS, "<|channel|>analysis<|message|>", " ", "\n", "a", "<"])).map(
    "".join
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", Thinking(None, "plain")),
        ("\n<think>\nhm\n</think>\n\nyes", Thinking("hm", "yes")),
        ("<think>\nhm", Thinking("hm", "", is_open=True)),
        ("hm</think>yes", Thinking("hm", "yes")),
        ("It writes <think>, then </think>.", Thinking(None, "It writes <think>, then </think>.")),
    ],
)
def test_the_thought_is_split_from_the_answer(text: str, expected: Thinking) -> None:
    assert split_thinking(text) == expected


@given(texts, st.lists(st.integers(1, 9), min_size=1))
def test_what_is_followed_piece_by_piece_is_what_the_whole_text_says(text: str, sizes: list[int]) -> None:
    watch, start, turn = ThoughtWatch(), 0, 0
    while start < len(text):
        size = sizes[turn % len(sizes)]
        watch.push(text[start : start + size])
        start, turn = start + size, turn + 1
    whole = split_thinking(text)
    assert watch.is_open == whole.is_open
    assert watch.is_over == (whole.thought is not None and not whole.is_open)
