"""A reply that was stopped and goes on is token for token the reply that was never stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.decoding.sequence import Sequence
from engine.llama.sampler import Sampler
from engine.protocol import (
    CachePolicy,
    CacheView,
    Failed,
    Finished,
    FinishReason,
    Message,
    Policy,
    Sampling,
    TextDelta,
)
from tests.native.harness import GREEDY, LocalEngine, assistant, loaded, system, user

MakeEngine = Callable[[int], LocalEngine]
QUESTION = [system("Be kind."), user("Write a long story about a river and its weir.")]


def sequence_of(engine: LocalEngine, chat: str) -> Sequence:
    sequence = engine.scheduler.sequence(chat)
    assert sequence
    return sequence


def ids_of(engine: LocalEngine, chat: str) -> list[int]:
    return list(sequence_of(engine, chat).ledger.ids)


def stop_after(engine: LocalEngine, messages: list[Message], n_tokens: int, chat: str) -> Finished:
    """Press Stop in the middle of a reply."""
    request_id = engine.submit(messages, chat=chat, ignore_eos=True)
    engine.run(lambda event: isinstance(event, TextDelta) and event.n_generated >= n_tokens)
    engine.scheduler.cancel(request_id)
    finished = engine.run()[-1]
    assert isinstance(finished, Finished) and finished.reason is FinishReason.CANCELLED
    return finished


def test_a_stopped_reply_goes_on_token_for_token(local: MakeEngine) -> None:
    engine, other = local(1024), local(1024)  # the same text to the bit needs the same place in the cache
    whole = other.ask(QUESTION, chat="whole", max_tokens=80, ignore_eos=True)
    first = stop_after(engine, QUESTION, 20, "parted")
    second = engine.ask([*QUESTION, assistant(first.text)], chat="parted", max_tokens=10, ignore_eos=True)
    so_far = first.text + second.text
    n_left = 80 - first.stats.tokens_generated - second.stats.tokens_generated
    third = engine.ask([*QUESTION, assistant(so_far)], chat="parted", max_tokens=n_left, ignore_eos=True)
    assert so_far + third.text == whole.text
    assert ids_of(engine, "parted") == ids_of(other, "whole")
    assert second.stats.tokens_prefilled == third.stats.tokens_prefilled == 1
    assert (second.stats.tokens_generated, third.stats.tokens_generated) == (10, n_left)
    assert third.stats.reevaluated_because is None


@pytest.mark.parametrize("policy", [Policy.ENDLESS, Policy.EXACT])
def test_a_reply_longer_than_the_context_goes_on_as_if_never_stopped(
    local: MakeEngine, policy: Policy
) -> None:
    engine, cache = local(256), CachePolicy(policy)
    whole = engine.ask(QUESTION, chat="whole", max_tokens=400, ignore_eos=True, cache=cache)
    ids = ids_of(engine, "whole")  # its cells are given up for the other one
    messages = [*QUESTION, assistant("")]
    for max_tokens in (150, 90, 1, 159):  # before the context is full, at its edge, and after it
        part = engine.ask(messages, chat="parted", max_tokens=max_tokens, ignore_eos=True, cache=cache)
        messages[-1] = assistant(messages[-1].content + part.text)
    assert messages[-1].content == whole.text
    assert ids_of(engine, "parted") == ids
    assert part.stats.resident_from_message == whole.stats.resident_from_message


def test_the_repetition_penalty_goes_on_too(local: MakeEngine) -> None:
    engine, sampling = local(512), Sampling(temperature=0, repeat_penalty=1.3, repeat_last_n=32)
    whole = local(512).ask(QUESTION, max_tokens=60, ignore_eos=True, sampling=sampling)
    messages = [*QUESTION, assistant("")]
    for _ in range(3):
        part = engine.ask(messages, chat="parted", max_tokens=20, ignore_eos=True, sampling=sampling)
        messages[-1] = assistant(messages[-1].content + part.text)
    assert messages[-1].content == whole.text


def test_a_recurrent_state_goes_on_without_reading_again(mamba_model: Path) -> None:
    with loaded(mamba_model) as model:
        engine = LocalEngine(model, 512)
        whole = engine.ask(QUESTION, chat="whole", max_tokens=40, ignore_eos=True)
        first = engine.ask(QUESTION, chat="parted", max_tokens=25, ignore_eos=True)
        messages = [*QUESTION, assistant(first.text)]
        second = engine.ask(messages, chat="parted", max_tokens=15, ignore_eos=True)
        assert first.text + second.text == whole.text
        assert second.stats.tokens_prefilled == 1
        engine.close()


def test_a_reply_that_stopped_inside_of_an_emoji_shows_it_when_it_goes_on(
    local: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = local(512)
    script = engine.model.tokenize("Yes 👍 and 👨\u200d👩\u200d👧\u200d👦!", parse_special=False)
    text = b"".join(map(engine.model.piece, script)).decode()
    n_prompt = sum(len(part.ids) for part in engine.prompts.whole(QUESTION))

    def sample(self: Sampler, context: object, index: int) -> int:
        return script[len(ids_of(engine, "chat")) - n_prompt]

    monkeypatch.setattr(Sampler, "sample", sample)
    messages = [*QUESTION, assistant("")]
    for _ in script:  # stopped after each token
        part = engine.ask(messages, max_tokens=1)
        assert "\ufffd" not in part.text
        messages[-1] = assistant(messages[-1].content + part.text)
    assert messages[-1].content == text
    assert ids_of(engine, "chat")[n_prompt:] == script


def test_half_an_emoji_is_not_in_the_next_turn(local: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = local(512)
    script = engine.model.tokenize("Yes 👍", parse_special=False)[:-1]
    monkeypatch.setattr(Sampler, "sample", lambda self, context, index: script.pop(0))
    messages = [*QUESTION, assistant(engine.ask(QUESTION, max_tokens=len(script)).text)]
    monkeypatch.undo()
    messages.append(user("And then?"))
    after = engine.ask(messages, max_tokens=20)
    assert after.stats.tokens_prefilled < 30
    assert after.text == local(512).ask(messages, max_tokens=20).text


def test_a_chat_that_left_the_cache_goes_on_with_the_same_words(local: MakeEngine) -> None:
    engine, fresh = local(1024), local(1024)
    whole = local(1024).ask(QUESTION, max_tokens=60, ignore_eos=True)
    first = stop_after(engine, QUESTION, 20, "parted")
    messages = [*QUESTION, assistant(first.text)]
    n_left = 60 - first.stats.tokens_generated
    second = fresh.ask(messages, max_tokens=n_left, ignore_eos=True)
    assert first.text + second.text == whole.text
    assert second.stats.reevaluated_because == "the chat was not in the cache"
    ids = ids_of(fresh, "chat")
    opening = fresh.prompts.whole(QUESTION)[-1].ids
    start = sequence_of(fresh, "chat").ledger.spans[-1].start
    assert ids[start : start + len(opening)] == opening
    text = b"".join(map(fresh.model.piece, ids[start + len(opening) :])).decode()
    assert text == whole.text  # nothing closes it in the middle
    assert not set(ids[start + len(opening) :]) & set(fresh.model.end_of_generation_tokens())


def test_the_next_turn_reads_only_its_own_tokens_after_a_reply_that_went_on(local: MakeEngine) -> None:
    engine = local(1024)
    first = stop_after(engine, QUESTION, 10, "chat")
    messages = [*QUESTION, assistant(first.text)]
    second = engine.ask(messages, max_tokens=10, ignore_eos=True)
    messages[-1] = assistant(first.text + second.text)
    messages.append(user("And then?"))
    own = sum(len(part.ids) for part in engine.prompts.rest(messages, len(messages) - 1))
    third = engine.ask(messages, max_tokens=5)
    # One more: the last token of the reply was sampled, not decoded.
    assert third.stats.tokens_prefilled == own + len(engine.prompts.closing) + 1
    assert third.stats.reevaluated_because is None


def test_a_reply_that_ended_by_itself_can_be_gone_on_with(local: MakeEngine) -> None:
    engine = local(512)
    question = [system("Answer in one word."), user("Hello")]
    ended = engine.ask(question, max_tokens=80)
    assert ended.reason is FinishReason.STOP
    messages = [*question, assistant(ended.text)]
    more = engine.ask(messages, max_tokens=8, ignore_eos=True)
    assert more.stats.tokens_generated == 8 and more.stats.tokens_prefilled == 1
    assert engine.ask(messages, max_tokens=8).reason is FinishReason.STOP


def test_a_reply_that_a_stop_string_ended_keeps_its_cells(local: MakeEngine) -> None:
    engine = local(512)
    whole = local(512).ask(QUESTION, max_tokens=30, ignore_eos=True)
    words = whole.text.split(" ")
    stop = " " + words[9] + " " + words[10]
    first = engine.ask(QUESTION, chat="b", max_tokens=30, ignore_eos=True, stop=(stop,))
    assert first.reason is FinishReason.STOP and whole.text.startswith(first.text + stop)
    messages = [*QUESTION, assistant(first.text)]
    second = engine.ask(messages, chat="b", max_tokens=30, ignore_eos=True)
    assert second.stats.tokens_prefilled == 1
    assert (first.text + second.text).startswith(whole.text)


def test_what_the_model_sees_is_told_of_the_same_messages(local: MakeEngine) -> None:
    engine = local(512)
    first = stop_after(engine, QUESTION, 10, "chat")
    messages = [*QUESTION, assistant(first.text)]
    engine.submit(messages, max_tokens=5, ignore_eos=True)
    views = [event for event in engine.run() if isinstance(event, CacheView)]
    assert {view.n_messages for view in views} == {3}
    assert {view.first_seen for view in views} == {0}


def test_a_reply_too_long_to_be_read_again_is_refused_in_one_sentence(local: MakeEngine) -> None:
    engine = local(256)
    engine.submit([*QUESTION, assistant("The river runs through the valley. " * 60)])
    failed = engine.run()[-1]
    assert isinstance(failed, Failed) and failed.error.message.startswith("The reply so far has 4")


def test_an_empty_reply_is_answered(local: MakeEngine) -> None:
    engine = local(512)
    answer = engine.ask(QUESTION, chat="a", max_tokens=10, sampling=GREEDY)
    assert engine.ask([*QUESTION, assistant("")], chat="b", max_tokens=10).text == answer.text
