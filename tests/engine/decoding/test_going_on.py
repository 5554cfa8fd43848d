"""A reply that was stopped goes on as if it had not been; else from its text, without being closed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decoding.admission import admit
from engine.errors import BadRequest, ContextFull, PromptTooLong
from engine.protocol import CachePolicy, Message, Policy, Role
from tests.engine.decoding.played_chat import Chat


def user(text: str) -> Message:
    return Message(Role.USER, text)


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, text)


def stopped(text: str, capacity: int = 1000, policy: CachePolicy | None = None) -> Chat:
    """A chat whose reply was stopped behind `text`."""
    chat = Chat(capacity, system="be kind", policy=policy)
    chat.ask("hello")
    chat.reply(text)
    return chat


def test_only_the_last_token_of_the_reply_is_decoded() -> None:
    chat = stopped("one two")
    assert chat.read() == 1
    assert chat.admitted.reason is None
    assert chat.context.text() == "S:be kind|U:hello|A:one two"


@settings(max_examples=80, deadline=None)
@given(
    stops=st.lists(st.integers(1, 299), min_size=1, max_size=4, unique=True).map(sorted),
    capacity=st.integers(64, 400),
    policy=st.sampled_from([Policy.ENDLESS, Policy.EXACT]),
    keeps_middle=st.booleans(),
)
def test_cells_and_tokens_are_those_of_a_reply_that_was_never_stopped(
    stops: list[int], capacity: int, policy: Policy, keeps_middle: bool
) -> None:
    text = "".join(chr(ord("a") + i % 26) for i in range(300))
    whole, parted = (Chat(capacity, "be kind", "", keeps_middle, CachePolicy(policy)) for _ in range(2))
    for chat in (whole, parted):
        chat.ask("a question")
        chat.reply("an answer")
        chat.ask("hello")
    whole.reply(text)
    bounds = [*stops, len(text)]
    parted.reply(text[: bounds[0]])
    for start, end in pairwise(bounds):
        parted.go_on(text[start:end])
    assert parted.sequence.ledger.ids == whole.sequence.ledger.ids
    assert parted.context.cells == whole.context.cells
    assert parted.sequence.seen == whole.sequence.seen
    for chat in (whole, parted):
        chat.ask("and now?")
    assert parted.context.cells == whole.context.cells


def test_the_next_turn_reuses_all_cells_of_a_reply_that_went_on() -> None:
    chat = stopped("one ")
    chat.go_on("two")
    assert chat.ask("more") == len("o|U:more|A:")
    assert chat.context.text() == "S:be kind|U:hello|A:one two|U:more|A:"


def test_a_reply_that_was_closed_meanwhile_goes_on_from_its_own_tokens() -> None:
    chat = stopped("one two")
    chat.ask("more")
    chat.reply("three")
    del chat.messages[-2:]
    assert chat.read() == 1
    assert chat.admitted.reason is None
    assert chat.context.text() == "S:be kind|U:hello|A:one two"


def test_a_reply_that_ended_by_itself_evaluates_its_last_token_again() -> None:
    chat = stopped("one two")
    chat.sequence.pending = [(len(chat.sequence.ledger) - 1, len(chat.sequence.ledger))]
    chat.context.decode(chat.sequence)
    assert chat.read() == 1
    assert chat.context.text() == "S:be kind|U:hello|A:one two"


def test_a_chat_that_is_not_in_the_cache_is_read_without_closing_its_reply() -> None:
    chat = Chat(1000)
    chat.messages = [user("hello"), assistant("one two")]
    assert chat.read() == len("U:hello|A:one two")
    assert chat.admitted.reason == "the chat was not in the cache"
    chat._say(" three")
    assert chat.context.text() == "U:hello|A:one two thre"


def test_an_edited_reply_goes_on_from_where_it_differs() -> None:
    chat = stopped("one two")
    chat.messages[-1] = assistant("one more")
    assert chat.read() == len("more")
    assert chat.context.text() == "S:be kind|U:hello|A:one more"
    assert chat.admitted.reason == "edited message 2"


def test_a_reply_that_fills_the_window_goes_on_with_what_is_left_of_it() -> None:
    chat = stopped("x" * 300, capacity=100)
    before = chat.context.text()
    chat.go_on("y")
    assert chat.context.text()[:-1] == before
    assert chat.admitted.reason is None


def test_a_reply_that_fits_only_without_its_question_goes_on_without_it() -> None:
    chat = Chat(100, system="be kind")
    chat.messages += [user("q" * 40), assistant("a" * 50)]
    chat.read()
    assert chat.context.text() == "S:be kind|A:" + "a" * 50


def test_a_reply_keeps_the_end_of_a_long_question_that_does_not_fit() -> None:
    chat = Chat(100, system="be kind")
    chat.messages += [user("Q" + "q" * 60), assistant("a" * 50)]
    chat.read()
    assert chat.context.text() == "S:be kind|" + "q" * 25 + "|A:" + "a" * 50


def test_a_reply_that_alone_does_not_fit_is_refused_with_both_counts() -> None:
    chat = Chat(100, system="be kind")
    chat.messages += [user("hello"), assistant("a" * 200)]
    with pytest.raises(PromptTooLong, match="The reply so far has 202 tokens") as caught:
        chat.read()
    assert caught.value.n_free == 100 - 12 - len("S:be kind|")


def test_older_turns_leave_for_a_reply_that_is_read_again() -> None:
    chat = Chat(160, system="be kind")
    for i in range(20):
        chat.messages += [user(f"question {i}"), assistant(f"answer {i}")]
    chat.read()
    seen = chat.context.text()
    assert seen.startswith("S:be kind|U:question") and seen.endswith("|U:question 19|A:answer 19")


def test_the_stop_policy_goes_on_to_the_last_cell_and_no_further() -> None:
    n_before = len("S:be kind|U:hello|A:")
    policy = CachePolicy(Policy.STOP)
    chat = stopped("x" * (100 - n_before), capacity=100, policy=policy)
    chat.go_on("y")
    assert len(chat.context.cells) == 100
    full = stopped("x" * (101 - n_before), capacity=100, policy=policy)
    with pytest.raises(ContextFull):
        full.go_on("y")


def test_a_pinned_reply_does_not_become_a_sink_while_it_grows() -> None:
    chat = stopped("one two", capacity=100)
    chat.pin(2)
    chat.go_on("x" * 200)
    assert len(chat.context.cells) <= 100
    chat.check()


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [assistant("alone")],
        [Message(Role.SYSTEM, "be kind"), assistant("alone")],
        [Message(Role.SYSTEM, "x")],
    ],
)
def test_a_chat_without_anything_to_answer_is_refused(messages: list[Message]) -> None:
    chat = Chat(1000)
    with pytest.raises(BadRequest):
        admit(chat.sequence, messages, chat.prompts, chat.room)
