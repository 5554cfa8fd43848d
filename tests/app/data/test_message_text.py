"""What texts become on their way into the store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.data.message_text import TITLE_LENGTH, clean_text, title_from

FAMILY = "👨‍👩‍👧‍👦"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("ok \ud83d", "ok \ufffd"),  # simonw/llm#546
        ("\udc4d!", "\ufffd!"),
        ("\ud83d\udc4d", "👍"),
        ("ALPHA\0BETA", "ALPHA\0BETA"),
        ("a\u202eb", "a\u202eb"),
    ],
)
def test_only_lone_surrogates_are_replaced(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned


@given(st.text(st.characters()))
def test_any_text_can_be_encoded_once_it_is_clean(text: str) -> None:
    assert clean_text(text).encode("utf-8").decode("utf-8") == clean_text(text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Hello", "Hello"),
        ("\n  \n  What is\ta weir?  \nSecond line", "What is a weir?"),
        ("ALPHA\0BETA", "ALPHA BETA"),
        (" \0\n", ""),
        ("", ""),
        ("word " * 20, "word word word word word word word word word word word word…"),
        ("x" * 61, "x" * 59 + "…"),
        ("short " + "x" * 100, "short " + "x" * 53 + "…"),
        ("نمی‌دانم", "نمی‌دانم"),
    ],
)
def test_titles_are_the_first_line_in_whole_words(text: str, title: str) -> None:
    assert title_from(text) == title


@pytest.mark.parametrize("unit", [FAMILY, "🇩🇪", "e\u0301", "👍🏽", "🏳️‍🌈"])
@pytest.mark.parametrize("lead", range(4))
def test_a_title_never_ends_in_half_a_character(unit: str, lead: int) -> None:
    title = title_from("x" * lead + unit * 60)
    assert len(title) <= TITLE_LENGTH
    body = title.removesuffix("…")[lead:]
    assert body == unit * (len(body) // len(unit))
    assert len(body) >= TITLE_LENGTH - 1 - lead - len(unit)
