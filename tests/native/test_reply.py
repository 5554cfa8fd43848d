"""One reply over real token ids: characters of several tokens, and the hard stop at max_tokens."""

from __future__ import annotations

from engine.decoding.reply import Reply
from engine.llama.model import Model
from engine.protocol import FinishReason, Generate
from tests.native.harness import GREEDY, user

THUMBS_UP = [10813, 235, 231]  # F0 9F | 91 | 8D in the starter's vocabulary


def reply(model: Model, max_tokens: int | None = None, stop: tuple[str, ...] = ()) -> Reply:
    return Reply(Generate(1, "chat", (user("Hello"),), GREEDY, max_tokens, stop), model)


def test_an_emoji_of_three_tokens_is_shown_whole_and_counts_three(starter: Model) -> None:
    made = reply(starter)
    assert [made.take(token) for token in THUMBS_UP] == ["", "", "👍"]
    assert made.generated == 3 and made.is_verbatim
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
    assert not made.is_verbatim
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
