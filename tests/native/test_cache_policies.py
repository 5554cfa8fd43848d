"""Policies, pins and families over the real cache: what is resident, and that it is worth a fresh one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.decoding.sequence import Sequence
from engine.llama.batch import Batch
from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.protocol import (
    CachePolicy,
    CacheView,
    Endurance,
    Finished,
    FinishReason,
    LoadModel,
    LookAt,
    Message,
    ModelLoaded,
    Policy,
    Shift,
)
from tests.native.harness import (
    LocalEngine,
    RemoteEngine,
    assistant,
    greedy_continuation,
    loaded,
    system,
    user,
)

MakeEngine = Callable[[int], LocalEngine]
EXACT = CachePolicy(Policy.EXACT)


def talk(engine: LocalEngine, messages: list[Message], turns: int, cache: CachePolicy) -> list[Finished]:
    """Go on with a chat for some turns of about 40 tokens."""
    finished: list[Finished] = []
    for _ in range(turns):
        messages.append(user(f"Tell me fact number {len(messages)} about rivers and their valleys, please."))
        finished.append(engine.ask(messages, max_tokens=20, cache=cache, ignore_eos=True))
        messages.append(assistant(finished[-1].text))
    return finished


def seen_ids(engine: LocalEngine, chat: str = "chat") -> list[int]:
    """What the cache holds, from the ledger."""
    sequence = engine.scheduler.sequence(chat)
    assert sequence
    return [token for run in sequence.ledger.runs for token in sequence.ledger.ids[run.start : run.end]]


def seen_text(engine: LocalEngine, chat: str = "chat") -> str:
    return b"".join(map(engine.model.piece, seen_ids(engine, chat))).decode("utf-8", "replace")


def test_the_code_word_of_the_system_prompt_is_resident_after_sixty_turns(local: MakeEngine) -> None:
    engine = local(512)
    messages = [system("The code word is PELICAN-7.")]
    for number in range(60):
        messages.append(user(f"Filler {number}: rivers bend in their valleys, as everyone knows."))
        finished = engine.ask(messages, max_tokens=6)
        messages.append(assistant(finished.text))
    assert "The code word is PELICAN-7." in seen_text(engine)
    assert "Filler 0:" not in seen_text(engine) and "Filler 59:" in seen_text(engine)
    assert finished.stats.resident_from_message and finished.stats.resident_from_message > 60


def test_the_exact_policy_says_what_a_fresh_engine_says(local: MakeEngine) -> None:
    engine, fresh = local(256), local(256)
    messages = [system("Be kind.")]
    finished = talk(engine, messages, 6, EXACT)
    last = next(turn for turn in reversed(range(6)) if finished[turn].stats.reevaluated_because)
    assert finished[last].stats.reevaluated_because == "policy exact"
    asked = messages[: 2 * last + 2]
    first_seen = finished[last].stats.resident_from_message
    assert first_seen
    alone = fresh.ask([asked[0], *asked[first_seen:]], max_tokens=20, ignore_eos=True)
    assert alone.text == finished[last].text


def test_the_stop_policy_keeps_the_text_so_far(local: MakeEngine) -> None:
    engine = local(256)
    finished = engine.ask(
        [user("Write a story.")], max_tokens=600, ignore_eos=True, cache=CachePolicy(Policy.STOP)
    )
    assert finished.reason is FinishReason.CONTEXT_FULL
    assert finished.stats.tokens_evicted == 0 and finished.stats.kv_cells_used == 256
    assert len(finished.text) > 200


def test_the_eager_shift_keeps_positions_below_the_context(local: MakeEngine) -> None:
    engine = local(256)
    messages: list[Message] = []
    for finished in talk(engine, messages, 8, CachePolicy(shift=Shift.EAGER)):
        assert engine.context.position_range(0)[1] < 256
        assert finished.stats.shifted == bool(finished.stats.tokens_evicted)


def test_a_pinned_message_is_resident_when_all_around_it_has_left(local: MakeEngine) -> None:
    engine = local(256)
    messages = [Message(user("x").role, "Remember the heron.", pinned=True)]
    messages.append(assistant(engine.ask(messages, max_tokens=10).text))
    talk(engine, messages, 8, CachePolicy())
    assert "Remember the heron." in seen_text(engine)
    assert "fact number 2 " not in seen_text(engine)


@pytest.mark.parametrize("n_sinks", [129, 256, 2**31 - 2])
def test_sinks_larger_than_half_of_the_context_are_refused(local: MakeEngine, n_sinks: int) -> None:
    engine = local(256)
    engine.submit([user("Hello")], cache=CachePolicy(n_sinks=n_sinks))
    (failed,) = engine.run()
    assert "128 tokens" in str(failed)


def test_a_chat_of_a_larger_context_goes_on_in_a_smaller_one(local: MakeEngine) -> None:
    large, small = local(2048), local(256)
    messages = [system("Be kind.")]
    talk(large, messages, 12, CachePolicy())
    messages.append(user("And now?"))
    finished = small.ask(messages, max_tokens=10)
    assert finished.stats.kv_cells_used <= 256
    assert finished.stats.resident_from_message and finished.stats.resident_from_message > 10
    assert "Be kind." in seen_text(small)


def test_ten_thousand_evictions_in_a_row_leave_the_cache_in_step(small_models: Callable[..., Path]) -> None:
    with loaded(small_models(n_ctx_train=512)) as model:
        context = Context(model, ContextParams(256))
        sequence, batch = Sequence(context, 0, "chat"), Batch(1)
        sequence.ledger.open_span(0)
        chance = random.Random(0)
        for step in range(10_064):
            sequence.ledger.append([chance.randrange(1000, 40_000)])
            if sequence.ledger.n_resident == 64:
                second = sequence.ledger.resident_in(4, len(sequence.ledger))[0][0]
                assert sequence.evict([(second, second + 1)])
                if step % 3:
                    sequence.compact()
            batch.clear()
            batch.add(sequence.ledger.ids[-1], sequence.ledger.next_position, 0, False)
            assert context.decode(batch) == 0
            sequence.ledger.mark_decoded(len(sequence.ledger) - 1, len(sequence.ledger))
        assert context.position_range(0) == (0, sequence.ledger.next_position - 1)
        assert sequence.ledger.n_resident == 64 and len(sequence.ledger.runs) == 2
        batch.close()
        context.close()


# --- a reply that fills the window ------------------------------------------------------------------


@pytest.mark.parametrize("policy", [Policy.ENDLESS, Policy.EXACT])
def test_the_next_message_reaches_a_model_that_sees_the_end_of_a_reply_that_filled_the_window(
    local: MakeEngine, policy: Policy
) -> None:
    engine, cache = local(256), CachePolicy(policy)
    messages = [user("Write a long story about a river.")]
    messages.append(assistant(engine.ask(messages, max_tokens=200, ignore_eos=True, cache=cache).text))
    messages.append(user("Shorter, please."))
    finished = engine.ask(messages, max_tokens=8, ignore_eos=True, cache=cache)
    assert 40 < finished.stats.tokens_evicted <= 64  # a quarter of the window beside the sinks
    assert messages[1].content[-200:] in seen_text(engine)
    assert finished.stats.resident_from_message == 1
    view = engine.scheduler.look(LookAt("chat", (*messages, assistant(finished.text)), cache))
    assert (view.first_seen, view.partly) == (1, True)
    if policy is Policy.EXACT:
        assert finished.stats.reevaluated_because == "policy exact"
        assert engine.context.position_range(0) == (0, finished.stats.kv_cells_used - 1)
    else:
        own = sum(len(part.ids) for part in engine.prompts.rest(messages, 2)) + len(engine.prompts.closing)
        assert (finished.stats.tokens_prefilled, finished.stats.reevaluated_because) == (own + 1, None)


def test_after_a_restart_the_end_of_a_long_reply_is_read_again_as_foretold(local: MakeEngine) -> None:
    engine, fresh = local(256), local(256)
    messages = [user("Write a long story about a river.")]
    messages.append(assistant(engine.ask(messages, max_tokens=400, ignore_eos=True).text))
    foretold = fresh.scheduler.look(LookAt("chat", tuple(messages)))
    assert (foretold.first_seen, foretold.partly) == (1, True)
    messages.append(user("Shorter, please."))
    finished = fresh.ask(messages, max_tokens=6)
    assert finished.stats.kv_cells_used <= 256 and finished.stats.tokens_prefilled > 200
    assert messages[1].content[-200:] in seen_text(fresh)
    view = fresh.scheduler.look(LookAt("chat", (*messages, assistant(finished.text))))
    assert (view.first_seen, view.partly, view.is_forecast) == (1, True, False)
    ids = seen_ids(fresh)
    assert greedy_continuation(fresh.model, ids[:-5], 5) == ids[-5:]


def test_a_full_context_refuses_with_what_is_in_the_cache(local: MakeEngine) -> None:
    engine, cache = local(256), CachePolicy(Policy.STOP)
    messages = [user("Write a story.")]
    first = engine.ask(messages, max_tokens=600, ignore_eos=True, cache=cache)
    assert (first.reason, first.stats.resident_from_message) == (FinishReason.CONTEXT_FULL, 0)
    messages += [assistant(first.text), user("Go on, please.")]
    refused = engine.ask(messages, max_tokens=8, cache=cache)
    assert (refused.reason, refused.text) == (FinishReason.CONTEXT_FULL, "") and refused.error
    assert refused.stats.resident_from_message == 0
    assert refused.stats.tokens_reused == refused.stats.kv_cells_used == 256
    assert (refused.stats.tokens_prefilled, refused.stats.tokens_evicted) == (0, 0)


# --- other families -------------------------------------------------------------------------------


@pytest.mark.parametrize("swa_full", [True, False])
def test_sliding_window_layers_say_what_a_fresh_engine_says_after_an_edit(
    gemma3_model: Path, swa_full: bool
) -> None:
    with loaded(gemma3_model) as model:
        _check_edits(model, swa_full)


def test_a_recurrent_state_says_what_a_fresh_engine_says_after_an_edit(mamba_model: Path) -> None:
    with loaded(mamba_model) as model:
        _check_edits(model, swa_full=True)


def _check_edits(model: Model, swa_full: bool) -> None:
    """Regenerate, edit the first turn, overflow: each time as if nothing had been cached."""
    engine = LocalEngine(model, 512, swa_full=swa_full)
    messages: list[Message] = []
    talk(engine, messages, 4, EXACT)
    for asked in (messages[:-1], [user("Something else about boats, please.")]):
        fresh = LocalEngine(model, 512, swa_full=swa_full)
        expected = fresh.ask(asked, max_tokens=20, ignore_eos=True, cache=EXACT)
        actual = engine.ask(asked, max_tokens=20, ignore_eos=True, cache=EXACT)
        assert actual.text == expected.text
        fresh.close()
    overflow = talk(engine, messages, 12, EXACT)
    assert any(turn.stats.reevaluated_because for turn in overflow)
    assert all(turn.stats.tokens_generated == 20 for turn in overflow)
    engine.close()


@pytest.mark.parametrize(
    ("family", "endurance", "says"),
    [
        ("starter_model", Endurance.SHIFTS, None),
        ("gemma3_model", Endurance.NEEDS_FULL_SWA, "MiB"),
        ("mamba_model", Endurance.CANNOT, "read again"),
    ],
)
def test_what_a_model_can_do_is_told_before_the_first_message(
    engine: RemoteEngine, request: pytest.FixtureRequest, family: str, endurance: Endurance, says: str | None
) -> None:
    engine.client.send(LoadModel(str(request.getfixturevalue(family)), n_ctx=2048, n_threads=1))
    info = engine.next(ModelLoaded).info
    assert info.endurance is endurance
    assert info.endurance_reason is None if says is None else says in (info.endurance_reason or "")


def test_looking_at_a_chat_tells_what_is_seen_and_what_will_be(
    engine: RemoteEngine, starter_model: Path
) -> None:
    engine.load(starter_model, n_ctx=256)
    messages = [system("Be kind.")]
    for number in range(12):
        messages += [user(f"Question {number} about rivers and valleys."), assistant("They bend. " * 5)]
    engine.client.send(LookAt("chat", tuple(messages)))
    forecast = engine.next(CacheView)
    assert forecast.is_forecast and forecast.first_seen and forecast.still_seen == (0,)
    messages.append(user("And?"))
    finished = engine.ask(messages, max_tokens=8)
    messages.append(assistant(finished.text))
    engine.client.send(LookAt("chat", tuple(messages)))
    view = engine.next(CacheView)
    while view.n_messages != len(messages) or view.first_seen is None:
        view = engine.next(CacheView)
    assert not view.is_forecast and view.first_seen == forecast.first_seen
    assert view.first_seen == finished.stats.resident_from_message
