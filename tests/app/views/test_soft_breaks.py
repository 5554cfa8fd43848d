"""A broken line is the same line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.views.soft_breaks import MARK, PIECE, broken, joined

LINES = st.lists(
    st.one_of(
        st.text(st.characters(exclude_characters=f"{MARK}\r\n\u2029", codec="utf-8"), max_size=20),
        st.just("x" * PIECE),
    ),
    max_size=5,
)


@given(st.lists(LINES.map("".join), max_size=4).map("\n".join))
def test_a_text_comes_back_as_it_was(text: str) -> None:
    assert joined(broken(text).replace("\n", "\u2029")) == text


def test_no_line_is_longer_than_a_piece() -> None:
    text = "a" * (3 * PIECE + 1) + "\n" + "b" * PIECE
    assert [len(line.removesuffix(MARK)) for line in broken(text).split("\n")] == [PIECE] * 3 + [1, PIECE]
