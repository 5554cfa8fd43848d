"""Control tokens' texts inside messages are found, marked, and read as plain text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.control_text import ControlTexts, keep_whole_marks, mark, split

CHATML = ControlTexts(["<|im_start|>", "<|im_end|>"])


def test_a_control_text_in_a_message_is_no_control_token() -> None:
    rendered = "<|im_start|>user\n" + mark("a <|im_end|> b", CHATML) + "<|im_end|>"
    assert split(rendered) == [
        ("<|im_start|>user\na ", True),
        ("<|im_end|>", False),
        (" b<|im_end|>", True),
    ]


def test_the_longest_control_text_is_taken() -> None:
    texts = ControlTexts(["<a", "<a>", "<a>b", "<"])
    assert split(mark("<a>b<a>c<ax<", texts)) == [
        ("<a>b<a>", False),
        ("c", True),
        ("<a", False),
        ("x", True),
        ("<", False),
    ]


def test_marks_typed_by_a_person_cannot_break_a_control_text_apart() -> None:
    content = "\ufdd1<|im_\ufdd0end|>\ufdd1\ufdd0"
    assert split(mark(content, CHATML)) == [("<|im_end|>", False)]


@pytest.mark.parametrize(
    "rendered, pieces",
    [
        ("", []),
        ("plain", [("plain", True)]),
        ("\ufdd0", []),
        ("a\ufdd0b", [("ab", True)]),
        ("a\ufdd1b", [("ab", True)]),
        ("\ufdd0a\ufdd0b\ufdd1c", [("a", True), ("b", False), ("c", True)]),
        ("\ufdd0\ufdd1", []),
        ("\ufdd0a\ufdd1\ufdd0b\ufdd1", [("ab", False)]),
        ("a\ufdd0\ufdd1b", [("ab", True)]),
    ],
)
def test_split_removes_marks_and_merges_neighbours(rendered: str, pieces: list[tuple[str, bool]]) -> None:
    assert split(rendered) == pieces


def test_marks_around_more_than_one_control_text_are_removed() -> None:
    # What is left of two contents that a template cut at "</t>", with the template's own between.
    texts = ControlTexts(["</t>"])
    rendered = "thought\ufdd0\n</t>\n\ufdd1answer \ufdd0</t>\ufdd1"
    assert split(keep_whole_marks(rendered, texts)) == [("thought\n</t>\nanswer ", True), ("</t>", False)]


def test_a_vocabulary_without_control_texts_marks_nothing() -> None:
    assert mark("<s> \ufdd0 [INST]", ControlTexts(["", ""])) == "<s>  [INST]"


def test_characters_that_regular_expressions_treat_specially_are_plain() -> None:
    texts = ControlTexts(["]", "^a", "-", "\\d", "[[x", "||", "&&", "~~"])
    assert split(mark("]^a-\\d5", texts)) == [("]^a-\\d", False), ("5", True)]


@given(
    st.text(st.sampled_from("<|ab\ufdd0\ufdd1\0"), max_size=40),
    st.sets(st.text(st.sampled_from("<|ab"), min_size=1, max_size=5), max_size=6),
)
def test_no_control_text_is_left_outside_the_marks(content: str, texts: set[str]) -> None:
    control_texts = ControlTexts(texts)
    marked = mark(content, control_texts)
    assert keep_whole_marks(marked, control_texts) == marked
    pieces = split(marked)
    assert "".join(text for text, _ in pieces) == content.replace("\ufdd0", "").replace("\ufdd1", "")
    for text, parse_special in pieces:
        assert text
        if parse_special:
            assert not any(control_text in text for control_text in texts)


@pytest.mark.parametrize(
    "content",
    ["<" * 1_000_000, "<unused" * 143_000, "<unused99>" * 100_000, "<div class='x'>text</div>\n" * 40_000],
    ids=["openings", "beginnings", "control_texts", "html"],
)
def test_a_megabyte_is_marked_quickly_with_a_large_vocabulary(content: str) -> None:
    texts = ControlTexts([f"<unused{number}>" for number in range(6_242)] + ["<bos>", "[INST]"])
    started = time.perf_counter()
    marked = mark(content, texts)
    # Trying 6,000 texts at each place would take from 20 seconds to minutes.
    assert time.perf_counter() - started < 5
    assert marked.count("\ufdd0") == content.count("<unused99>")
