"""What is called free holds for real tokens: a message of just that many is answered, one more is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.protocol import CachePolicy, CacheView, Failed, Finished, LookAt, Message, Policy
from tests.native.harness import LocalEngine, assistant, system, user

MakeEngine = Callable[[int], LocalEngine]
FEW, MANY = 2, 8  # turns that fit into the context, and turns that do not


def words(engine: LocalEngine, count: int) -> Message:
    """A message of `count` tokens."""
    message = user("river" + " river" * (count - 1))
    assert engine.prompts.count(message) == count
    return message


def ends(engine: LocalEngine, messages: list[Message], cache: CachePolicy) -> bool:
    """Whether the chat is answered."""
    engine.submit(messages, max_tokens=1, cache=cache)
    last = engine.run()[-1]
    assert isinstance(last, Failed | Finished)
    return isinstance(last, Finished) and last.error is None


@pytest.mark.parametrize("head", [[], [system("Be kind.")]])
@pytest.mark.parametrize(
    ("policy", "n_turns"),
    [(Policy.ENDLESS, FEW), (Policy.ENDLESS, MANY), (Policy.EXACT, MANY), (Policy.STOP, FEW)],
)
def test_a_message_of_just_the_free_tokens_is_answered(
    local: MakeEngine, head: list[Message], policy: Policy, n_turns: int
) -> None:
    engine, cache = local(256), CachePolicy(policy)
    messages = list(head)
    for number in range(n_turns):
        messages.append(user(f"Tell me fact number {number} about rivers."))
        messages.append(assistant(engine.ask(messages, max_tokens=20, cache=cache, ignore_eos=True).text))
    view = engine.scheduler.look(LookAt("chat", tuple(messages), cache))
    check(engine, view, messages, cache)


@pytest.mark.parametrize("policy", list(Policy))
def test_the_first_message_of_a_chat_may_have_just_the_free_tokens(local: MakeEngine, policy: Policy) -> None:
    engine, cache = local(256), CachePolicy(policy)
    view = engine.scheduler.look(LookAt("chat", (), cache))
    assert view.is_forecast
    check(engine, view, [], cache)


def check(engine: LocalEngine, view: CacheView, messages: list[Message], cache: CachePolicy) -> None:
    assert view.n_room and view.n_room > 40
    assert not ends(engine, [*messages, words(engine, view.n_room + 1)], cache)
    assert ends(engine, [*messages, words(engine, view.n_room)], cache)


def test_the_parts_of_the_view_add_up(local: MakeEngine) -> None:
    engine = local(512)
    messages = [system("Be kind."), Message(user("").role, "Remember the heron.", pinned=True)]
    for number in range(2):
        reply = engine.ask(messages, max_tokens=10, ignore_eos=True)
        messages += [assistant(reply.text), user(f"Question {number}?")]
    view = engine.scheduler.look(LookAt("chat", tuple(messages[:-1])))
    first, second = engine.prompts.whole(messages[:-1])[:2]
    assert not view.is_forecast
    assert (view.n_system, view.n_pinned) == (len(first.ids), len(second.ids))
    assert view.n_sinks == view.n_system + view.n_pinned
    # One token of the last reply was sampled and not decoded: it does not count as evicted.
    assert view.n_chat == view.n_sinks + view.n_window
