"""Bytes of tokens become text: whole characters, and no part of a stop string."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.text_stream import TextStream

FAMILY = "👨‍👩‍👧‍👦"
# Few letters, so that stop strings appear, overlap and begin without being completed.
TEXTS = st.text(st.sampled_from("ab\n👍"), max_size=20)
STOPS = st.lists(st.text(st.sampled_from("ab\n👍"), min_size=1, max_size=4), max_size=3)


def cut_at_first_stop(text: str, stops: Sequence[str]) -> str:
    """The definition, character by character: the first stop string to be complete ends the text."""
    for end in range(1, len(text) + 1):
        ending = [stop for stop in stops if stop.strip() and text[:end].endswith(stop)]
        if ending:
            return text[: end - max(map(len, ending))]
    return text


def pieces_of(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(bounds)]


@given(TEXTS, STOPS, st.lists(st.integers(0, 80), max_size=20))
def test_any_split_gives_the_text_before_the_first_stop(text: str, stops: list[str], cuts: list[int]) -> None:
    stream = TextStream(stops)
    deltas = [stream.push(piece) for piece in pieces_of(text.encode(), cuts)]
    deltas.append(stream.finish())
    expected = cut_at_first_stop(text, stops)
    assert "".join(deltas) == stream.text == expected
    assert stream.stopped == (expected != text)


@given(st.binary(max_size=40), st.lists(st.integers(0, 40), max_size=10))
def test_invalid_bytes_read_the_same_in_any_split(data: bytes, cuts: list[int]) -> None:
    whole, split = TextStream([]), TextStream([])
    expected = whole.push(data) + whole.finish()
    assert "".join(split.push(piece) for piece in pieces_of(data, cuts)) + split.finish() == expected
    # The decoder's own reading, but for an incomplete character at the very end.
    assert data.decode("utf-8", "replace") in (expected, expected + "\ufffd")


def test_a_character_comes_with_its_last_byte() -> None:
    stream = TextStream([])
    assert [stream.push(piece) for piece in (b"\xf0\x9f", b"\x91", b"\x8d")] == ["", "", "👍"]


def test_a_family_comes_byte_by_byte_without_a_replacement_character() -> None:
    stream = TextStream([])
    deltas = [stream.push(bytes([byte])) for byte in FAMILY.encode()]
    assert "".join(deltas) == FAMILY
    assert "\ufffd" not in "".join(deltas)


def test_an_incomplete_character_at_the_end_is_dropped() -> None:
    stream = TextStream([])
    assert stream.push(b"ok \xf0\x9f") == "ok "
    assert stream.finish() == ""
    assert stream.text == "ok "


def test_a_character_that_can_no_longer_complete_is_replaced() -> None:
    stream = TextStream([])
    assert stream.push(b"\xf0\x9f") == ""
    assert stream.push(b"A") == "\ufffdA"


@pytest.mark.parametrize("blank", ["", " ", "\n", "\t \n"])
def test_a_blank_stop_string_is_ignored(blank: str) -> None:
    stream = TextStream([blank])
    assert stream.push(b"a \n\t \n b") == "a \n\t \n b"
    assert not stream.stopped


def test_text_that_could_become_a_stop_is_held_until_it_cannot() -> None:
    stream = TextStream(["User:"])
    assert stream.push(b"Us") == ""
    assert stream.push(b"er") == ""
    assert stream.push(b"s say") == "Users say"


def test_a_stop_that_begins_inside_its_own_beginning_does_not_leak() -> None:
    stream = TextStream(["aab"])
    assert [stream.push(piece) for piece in (b"a", b"a", b"a", b"b")] == ["", "", "a", ""]
    assert stream.stopped


def test_held_text_is_shown_when_the_reply_ends() -> None:
    stream = TextStream(["User:"])
    assert stream.push(b"The User") == "The "
    assert stream.finish() == "User"
    assert stream.finish() == ""
    assert stream.text == "The User"


def test_nothing_is_shown_from_the_stop_on() -> None:
    stream = TextStream(["</s>", "END"])
    assert stream.push(b"one </") == "one "
    assert stream.push(b"s> two END") == ""
    assert stream.stopped
    assert stream.push(b"three") == ""
    assert stream.finish() == ""
    assert stream.text == "one "


def test_a_stop_in_the_same_piece_as_text_before_it_lets_that_text_out() -> None:
    stream = TextStream(["b", "cd"])
    assert stream.push(b"aacdab") == "aa"
    assert stream.stopped


def test_a_long_reply_costs_the_same_for_every_token() -> None:
    stream = TextStream(["\nUser:", "a" * 50 + "b"])
    started = time.perf_counter()
    for _ in range(100_000):
        stream.push(b"\nUs a")
    # Looking through the whole text again for each piece would take minutes.
    assert time.perf_counter() - started < 15
    assert len(stream.text + stream.finish()) == 500_000
