"""One reply over real token ids: characters of several tokens, and the hard stop at max_tokens."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine.decoding.reply import Reply
from engine.llama.model import Model
from engine.protocol import FinishReason, Generate
from tests.native.harness import GREEDY, assistant, user

THUMBS_UP = [10813, 235, 231]  # F0 9F | 91 | 8D in the starter's vocabulary


def reply(model: Model, max_tokens: int | None = None, stop: tuple[str, ...] = ()) -> Reply:
    return Reply(Generate(1, "chat", (user("Hello"),), GREEDY, max_tokens, stop), model)


def test_an_emoji_of_three_tokens_is_shown_whole_and_counts_three(starter: Model) -> None:
    made = reply(starter)
    assert [made.take(token) for token in THUMBS_UP] == ["", "", "👍"]
    assert (made.generated, made.n_surplus, made.half_character) == (3, 0, b"")
    made.close()


def test_a_family_of_emoji_never_shows_a_replacement_character(starter: Model) -> None:
    family = "👨\u200d👩\u200d👧\u200d👦"
    made = reply(starter)
    ids = starter.tokenize(family, parse_special=False)
    pieces = [made.take(token) for token in ids]
    assert len(ids) > 10 and "".join(pieces) == family and "\ufffd" not in "".join(pieces)
    made.close()


def test_half_a_character_at_the_end_is_left_out(starter: Model) -> None:
    made = reply(starter, max_tokens=1)
    assert made.take(THUMBS_UP[0]) == ""
    assert (made.reason, made.stream.text, made.generated) == (FinishReason.LENGTH, "", 1)
    assert made.half_character == b"\xf0\x9f"
    made.close()


def test_max_tokens_holds_even_if_no_character_is_ever_complete(starter: Model) -> None:
    made = reply(starter, max_tokens=3)
    taken = 0
    while made.reason is None:
        made.take(THUMBS_UP[0])
        taken += 1
    assert taken == made.generated == 3
    made.close()


def test_the_token_that_ends_the_turn_is_not_counted(starter: Model) -> None:
    made = reply(starter)
    assert starter.eos is not None
    made.take(starter.tokenize("Hi", parse_special=False)[0])
    made.take(starter.eos)
    assert (made.reason, made.generated, made.stream.text) == (FinishReason.STOP, 1, "Hi")
    assert made.decode_tps is None  # no decode was accounted for: nothing to divide
    made.close()


# --- thinking -------------------------------------------------------------------------------------


class Clock:
    """The reply's time, which stands still but for what the test adds to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("engine.decoding.reply.time", SimpleNamespace(perf_counter=lambda: self.now))


def thinking_ms(
    model: Model, clock: Clock, text: str, before: str = "", seconds: float = 0.5
) -> float | None:
    """What a reply's statistics say of `text`, whose tokens come every `seconds`."""
    messages = (user("Hello"), assistant(before)) if before else (user("Hello"),)
    made = Reply(Generate(1, "chat", messages, GREEDY), model)
    clock.now += 10
    for token in model.tokenize(text, parse_special=False):
        made.take(token)
        clock.now += seconds
    made.end(FinishReason.CANCELLED)
    made.close()
    return made.stats(0, 0, None).thinking_ms


def test_thinking_is_timed_from_the_first_token_to_the_one_that_ends_it(
    starter: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    n_thought = len(starter.tokenize("<think>\nLet me see.\n</think>", parse_special=False))
    expected = pytest.approx((n_thought - 1) * 500)
    assert thinking_ms(starter, clock, "<think>\nLet me see.\n</think>\n\nParis it is.") == expected
    assert thinking_ms(starter, clock, "Paris it is, not <think>.") is None


def test_a_thought_that_is_still_open_is_timed_to_the_end(
    starter: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    n_tokens = len(starter.tokenize("<think>\nLet me", parse_special=False))
    assert thinking_ms(starter, clock, "<think>\nLet me") == pytest.approx(n_tokens * 500)


def test_a_reply_that_goes_on_counts_only_the_thinking_that_is_new(
    starter: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    n_thought = len(starter.tokenize(" see.</think>", parse_special=False))
    expected = pytest.approx((n_thought - 1) * 500)
    assert thinking_ms(starter, clock, " see.</think>Paris.", before="<think>\nLet me") == expected
    assert thinking_ms(starter, clock, " it is.", before="<think>Hm</think>Paris") is None
