"""The chat goes on for ever: what is evicted, what is re-read, and that Stop leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.decoding.ledger import Ledger
from engine.protocol import (
    CacheShifted,
    Event,
    Failed,
    Finished,
    FinishReason,
    Message,
    PrefillProgress,
    TextDelta,
)
from tests.native.harness import (
    LocalEngine,
    assistant,
    greedy_continuation,
    loaded,
    system,
    user,
)

LOREM = "The river runs through the valley and the weir holds the water at its level. "
MakeEngine = Callable[[int], LocalEngine]


def test_a_chat_longer_than_the_context_goes_on_and_reads_only_new_tokens(local: MakeEngine) -> None:
    engine = local(512)
    messages = [system("The code word is PELICAN-7.")]
    evicted, was_cut = 0, False
    for turn in range(20):
        messages.append(user(f"Fact {turn} about rivers, please: how long are they, and why do they bend?"))
        own = sum(len(part.ids) for part in engine.prompts.rest(messages, len(messages) - 1))
        finished = engine.ask(messages, max_tokens=24)
        messages.append(assistant(finished.text))
        assert finished.stats.kv_cells_used <= finished.stats.kv_cells == 512
        if turn:
            # What closes the last reply; its last token too, if it was cut off before it was decoded.
            own += len(engine.prompts.closing) + was_cut
            assert finished.stats.tokens_prefilled == own
        was_cut = finished.reason is FinishReason.LENGTH
        evicted += finished.stats.tokens_evicted
    assert evicted > 300
    ledger = _ledger(engine)
    first = ledger.ids[: ledger.runs[0].end]
    assert b"The code word is PELICAN-7." in b"".join(map(engine.model.piece, first))


def test_positions_move_back_when_they_would_leave_the_trained_context(
    small_models: Callable[..., Path],
) -> None:
    with loaded(small_models(n_ctx_train=512)) as model:
        engine = LocalEngine(model, 512)
        shifts: list[CacheShifted] = []
        messages: list[Message] = []
        for _turn in range(12):
            messages.append(user(LOREM))
            engine.submit(messages, max_tokens=60, ignore_eos=True)
            events = engine.run()
            shifts += [event for event in events if isinstance(event, CacheShifted)]
            messages.append(assistant(_last(events).text))
            assert engine.context.position_range(0)[1] < 512
        engine.close()
    assert any(event.shifted for event in shifts)


def test_a_reply_longer_than_the_context_evicts_its_own_beginning(local: MakeEngine) -> None:
    engine = local(256)
    finished = engine.ask([user("Count.")], max_tokens=600, ignore_eos=True)
    assert (finished.reason, finished.stats.tokens_generated) == (FinishReason.LENGTH, 600)
    assert finished.stats.tokens_evicted >= 600 - 256


@pytest.mark.parametrize("family", ["mamba_model", "gemma3_model"])
def test_models_of_other_families_go_on_beyond_their_context(
    family: str, request: pytest.FixtureRequest
) -> None:
    with loaded(request.getfixturevalue(family)) as model:
        engine = LocalEngine(model, 256)
        messages: list[Message] = []
        for _turn in range(8):
            messages.append(user(LOREM))
            finished = engine.ask(messages, max_tokens=30, ignore_eos=True)
            assert finished.stats.tokens_generated == 30
            messages.append(assistant(finished.text))
        engine.close()


def test_the_sliding_window_cache_without_all_cells_is_read_again_not_trusted(gemma3_model: Path) -> None:
    with loaded(gemma3_model) as model:
        engine = LocalEngine(model, 2048, swa_full=False)
        fresh = LocalEngine(model, 2048, swa_full=False)
        first = [user(LOREM * 60)]
        reply = engine.ask(first, max_tokens=20, ignore_eos=True)
        again = engine.ask([user(LOREM * 30)], max_tokens=20, ignore_eos=True)
        assert again.text == fresh.ask([user(LOREM * 30)], max_tokens=20, ignore_eos=True).text
        assert reply.stats.tokens_generated == 20
        engine.close()
        fresh.close()


def test_a_recurrent_state_reads_only_new_tokens_while_it_fits(mamba_model: Path) -> None:
    with loaded(mamba_model) as model:
        engine = LocalEngine(model, 512)
        messages = [user("Hello")]
        messages += [assistant(engine.ask(messages, max_tokens=10, ignore_eos=True).text), user("And?")]
        own = sum(len(part.ids) for part in engine.prompts.rest(messages, 2)) + len(engine.prompts.closing)
        stats = engine.ask(messages, max_tokens=10, ignore_eos=True).stats
        assert (stats.tokens_prefilled, stats.reevaluated_because) == (own + 1, None)
        engine.close()


# --- a long prompt --------------------------------------------------------------------------------


def test_a_long_prompt_is_told_of_before_it_is_read_and_then_with_the_time_that_is_left(
    local: MakeEngine,
) -> None:
    engine = local(1024)
    engine.submit([user(LOREM * 25)], max_tokens=1)
    first = [event for event in engine.scheduler.step() if isinstance(event, PrefillProgress)]
    assert engine.scheduler.cells_used == 0
    n_total = first[0].n_total
    assert first == [PrefillProgress(1, 0, n_total, None)] and n_total > 300
    events = engine.run()
    told = [event for event in events if isinstance(event, PrefillProgress)]
    assert {event.n_total for event in told} == {n_total}
    done = [event.n_done for event in told]
    assert len(done) > 2 and done == sorted(done) and done[-1] == n_total
    assert told[0].seconds_left and told[0].seconds_left > 0 and told[-1].seconds_left == 0
    before_last, prefill_tps = told[-2], _last(events).stats.prefill_tps
    assert before_last.seconds_left and prefill_tps
    speed_so_far = (n_total - before_last.n_done) / before_last.seconds_left
    assert prefill_tps / 3 < speed_so_far < prefill_tps * 3


def test_a_short_prompt_is_read_without_a_word_before(local: MakeEngine) -> None:
    engine = local(512)
    engine.submit([user("Hello")], max_tokens=1)
    told = [event for event in engine.run() if isinstance(event, PrefillProgress)]
    assert len(told) == 1 and told[0].n_done == told[0].n_total


# --- Stop -----------------------------------------------------------------------------------------


def test_stop_while_reading_takes_effect_within_a_slice_and_leaves_a_clean_cache(local: MakeEngine) -> None:
    engine = local(4096)
    long = [user(LOREM * 60 + "What is this about?")]
    request_id = engine.submit(long, max_tokens=30)
    engine.run(lambda event: isinstance(event, PrefillProgress) and event.n_done >= 128)
    engine.scheduler.cancel(request_id)
    finished = _last(engine.run())
    assert (finished.reason, finished.text) == (FinishReason.CANCELLED, "")
    assert 128 <= finished.stats.tokens_prefilled < 900
    assert finished.stats.ttft_ms is None and finished.stats.decode_tps is None
    again = engine.ask(long, max_tokens=30)
    assert again.stats.tokens_reused == finished.stats.tokens_prefilled
    _check_against_fresh_context(engine, again)


def test_stop_in_a_reply_keeps_its_text_and_a_clean_cache(local: MakeEngine) -> None:
    engine = local(1024)
    question = user("Write a long story about a river.")
    request_id = engine.submit([question], max_tokens=200, ignore_eos=True)
    engine.run(lambda event: isinstance(event, TextDelta) and event.n_generated >= 20)
    engine.scheduler.cancel(request_id)
    stopped = _last(engine.run())
    assert stopped.reason is FinishReason.CANCELLED and len(stopped.text) > 20
    chat = [question, assistant(stopped.text), user("Now in one sentence.")]
    after = engine.ask(chat, max_tokens=30)
    assert after.stats.tokens_prefilled < 30
    _check_against_fresh_context(engine, after)


def _check_against_fresh_context(engine: LocalEngine, finished: Finished) -> None:
    """The reply is what a fresh context says after the same ids."""
    ids = list(_ledger(engine).ids)
    count = finished.stats.tokens_generated
    assert greedy_continuation(engine.model, ids[:-count], count) == ids[-count:]


# --- several chats --------------------------------------------------------------------------------


def test_two_chats_are_answered_side_by_side(local: MakeEngine) -> None:
    engine = local(1024)
    requests = {
        engine.submit([user(f"Name a {thing}.")], chat=thing, max_tokens=12, ignore_eos=True): thing
        for thing in ("colour", "country")
    }
    events: list[Event] = []
    while engine.scheduler.busy:
        events += engine.scheduler.step()
    texts = dict.fromkeys(requests, "")
    order = [event.request_id for event in events if isinstance(event, TextDelta)]
    for event in events:
        if isinstance(event, TextDelta):
            texts[event.request_id] += event.text
        elif isinstance(event, Finished):
            assert event.text == texts[event.request_id]
    assert order[:4] != sorted(order[:4])  # they take turns


def test_an_idle_chat_makes_room_for_another(local: MakeEngine) -> None:
    engine = local(256)
    for number in range(6):  # more chats than sequences, and more tokens than cells
        finished = engine.ask([user(LOREM * 8)], chat=str(number), max_tokens=10)
        assert finished.stats.kv_cells_used <= 256
    last = engine.ask([user("Hello")], chat="0", max_tokens=5).stats
    # What the template says first is that of the chat whose sequence it takes.
    assert last.tokens_reused == 24


def test_a_forgotten_chat_frees_its_cells_even_in_the_middle_of_a_reply(local: MakeEngine) -> None:
    engine = local(512)
    engine.submit([user("Hello")], max_tokens=100, ignore_eos=True)
    engine.run(lambda event: isinstance(event, TextDelta))
    engine.scheduler.forget("chat")
    assert _last(engine.run()).reason is FinishReason.CANCELLED
    assert engine.scheduler.cells_used == 0 and engine.context.position_range(0) == (-1, -1)


def test_a_message_too_long_is_refused_and_the_chat_goes_on(local: MakeEngine) -> None:
    engine = local(256)
    first = [user("Hello")]
    reply = engine.ask(first, max_tokens=8)
    chat = [*first, assistant(reply.text)]
    engine.submit([*chat, user(LOREM * 40)])
    refusal = engine.run()[-1]
    assert isinstance(refusal, Failed) and "Your message has 6" in refusal.error.message
    assert engine.ask([*chat, user("Still there?")], max_tokens=8).stats.tokens_reused > 30


def _last(events: list[Event]) -> Finished:
    assert isinstance(events[-1], Finished), events[-1]
    return events[-1]


def _ledger(engine: LocalEngine) -> Ledger:
    sequence = engine.scheduler.sequence("chat")
    assert sequence is not None
    return sequence.ledger
