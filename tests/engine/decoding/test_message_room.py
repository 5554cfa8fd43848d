"""What the view calls free is what admission takes: a message of just that many tokens, and not one more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.decoding.view import forecast, of_sequence
from engine.errors import BadRequest, ContextFull, PromptTooLong
from engine.protocol import CachePolicy, CacheView, LookAt, Message, Policy, Role
from tests.engine.decoding.played_chat import Chat


def user(text: str, pinned: bool = False) -> Message:
    return Message(Role.USER, text, pinned)


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, text)


def seen(chat: Chat) -> CacheView:
    return of_sequence(chat.sequence, "chat", len(chat.messages), chat.prompts, chat.room)


def foreseen(chat: Chat) -> CacheView:
    return forecast(LookAt("chat", tuple(chat.messages)), chat.prompts, chat.room)


def check_limit(make: object, n_room: int | None) -> None:
    """A fresh chat from `make` takes a message of `n_room` tokens and refuses one more."""
    assert callable(make) and n_room
    make().ask("x" * n_room)
    with pytest.raises((PromptTooLong, ContextFull)):
        make().ask("x" * (n_room + 1))


def talked(policy: Policy, n_turns: int, capacity: int = 200, system: str = "be kind") -> Chat:
    """A chat whose turns are in the cache."""
    chat = Chat(capacity, system=system, policy=CachePolicy(policy))
    chat.turns(n_turns)
    return chat


@pytest.mark.parametrize("system", ["", "be kind"])
@pytest.mark.parametrize(
    ("policy", "n_turns"),
    [(Policy.ENDLESS, 1), (Policy.ENDLESS, 30), (Policy.EXACT, 1), (Policy.EXACT, 30), (Policy.STOP, 3)],
)
def test_the_room_beside_what_is_in_the_cache_is_exact(policy: Policy, n_turns: int, system: str) -> None:
    view = seen(talked(policy, n_turns, system=system))
    check_limit(lambda: talked(policy, n_turns, system=system), view.n_room)


@pytest.mark.parametrize("system", ["", "be kind"])
@pytest.mark.parametrize(
    ("policy", "n_turns"),
    [(Policy.ENDLESS, 0), (Policy.ENDLESS, 30), (Policy.EXACT, 30), (Policy.STOP, 0), (Policy.STOP, 3)],
)
def test_the_room_beside_what_is_not_read_yet_is_exact(policy: Policy, n_turns: int, system: str) -> None:
    def stored() -> Chat:
        chat = Chat(200, system=system, policy=CachePolicy(policy))
        for i in range(n_turns):
            chat.messages += [user(f"question {i}"), assistant(f"answer {i}")]
        return chat

    check_limit(stored, foreseen(stored()).n_room)


@pytest.mark.parametrize("policy", [Policy.ENDLESS, Policy.EXACT])
def test_pins_take_from_the_room(policy: Policy) -> None:
    def pinned() -> Chat:
        chat = talked(policy, 3)
        chat.pin(1)
        chat.pin(4)
        chat.ask("and?")
        chat.reply("yes")
        return chat

    view = seen(pinned())
    assert view.n_system == len("S:be kind|")
    assert view.n_pinned == len("U:question 0|") + len("A:answer 1|")
    assert view.n_room == talked_room(policy) - view.n_pinned
    check_limit(pinned, view.n_room)
    fresh = pinned()
    fresh.sequence.clear()
    assert (foreseen(fresh).n_pinned, foreseen(fresh).n_room) == (view.n_pinned, view.n_room)


def talked_room(policy: Policy) -> int:
    n_room = seen(talked(policy, 3)).n_room
    assert n_room
    return n_room


def test_a_chat_that_was_endless_and_is_to_stop_has_the_room_that_is_left_now() -> None:
    def switched() -> Chat:
        chat = talked(Policy.ENDLESS, 30)
        chat.room = replace(chat.room, policy=CachePolicy(Policy.STOP))
        return chat

    check_limit(switched, seen(switched()).n_room)
    assert foreseen(switched()).n_room == 0  # all of it has to be read then, and does not fit


def test_a_message_that_was_refused_is_told_how_long_it_may_be() -> None:
    chat = talked(Policy.ENDLESS, 3)
    n_room = foreseen(chat).n_room
    chat.messages.append(user("x" * 500))
    assert foreseen(chat).n_room == n_room


def test_a_system_prompt_or_sinks_that_leave_nothing_leave_no_room() -> None:
    assert foreseen(Chat(100, system="x" * 100)).n_room == 0
    chat = Chat(100, policy=CachePolicy(n_sinks=51))
    assert foreseen(chat).n_room == 0
    with pytest.raises(BadRequest):
        chat.ask("hello")


# --- sizes ----------------------------------------------------------------------------------------


def test_the_whole_chat_is_counted_with_what_was_evicted() -> None:
    chat = talked(Policy.ENDLESS, 30)
    view = seen(chat)
    whole = sum(map(len, ("S:be kind|", *(f"U:question {i}|A:answer {i}|" for i in range(30)))))
    # The last reply is still open, and its last token not decoded yet.
    assert view.n_chat == whole - len("9|")
    assert view.n_sinks + view.n_window < view.n_chat


def test_a_chat_that_is_seen_whole_has_no_tokens_that_are_not_seen() -> None:
    view = seen(talked(Policy.ENDLESS, 2))
    decoded = "S:be kind|U:question 0|A:answer 0|U:question 1|A:answer "
    assert view.n_chat == view.n_sinks + view.n_window == len(decoded)


def test_a_chat_of_which_the_beginning_was_never_read_has_no_size() -> None:
    chat = Chat(200)
    for i in range(100):
        chat.messages += [user(f"question {i}"), assistant(f"answer {i}")]
    assert foreseen(chat).n_chat is None
    chat.ask("last")
    chat.reply("yes")
    assert seen(chat).n_chat is None


def test_the_forecast_counts_a_chat_that_it_has_read() -> None:
    chat = Chat(400, preamble="S:built in|")
    assert foreseen(chat).n_chat == len("S:built in|")
    chat.messages += [user("hello"), assistant("hi")]
    view = foreseen(chat)
    assert view.n_chat == len("S:built in|U:hello|A:hi|")
    assert view.n_system == len("S:built in|")
