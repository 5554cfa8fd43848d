"""Several sequences over one pool: what they have in common is evaluated once and lies there once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.protocol import (
    CachePolicy,
    Event,
    Finished,
    KVType,
    Message,
    Role,
    Sampling,
    Shift,
    TextDelta,
    variant_chat_id,
)
from tests.native.harness import LocalEngine

MakeEngine = Callable[..., LocalEngine]
LONG = "The weir holds the river back, and the water behind it keeps its level all year. " * 50
QUESTION = [Message(Role.SYSTEM, "You answer briefly."), Message(Role.USER, f"{LONG}\nWhat keeps its level?")]

TEACHER = Message(Role.SYSTEM, "You are a patient teacher who explains rivers, dams and weirs to children.")


def finished(events: list[Event]) -> dict[int, Finished]:
    return {event.request_id: event for event in events if isinstance(event, Finished)}


def run_all(engine: LocalEngine, n_replies: int) -> tuple[dict[int, Finished], int]:
    """All replies, and the most cells that were in use at once."""
    events: list[Event] = []
    peak = 0
    while len(finished(events)) < n_replies:
        events += engine.scheduler.step()
        peak = max(peak, engine.scheduler.cells_used)
    return finished(events), peak


def ask_variants(engine: LocalEngine, count: int, **more: object) -> list[int]:
    options = {"max_tokens": 24, "ignore_eos": True, **more}
    return [
        engine.submit(
            QUESTION, chat=variant_chat_id("chat", n), sampling=Sampling(temperature=1.0, seed=n), **options
        )
        for n in range(count)
    ]


def test_variants_read_their_prompt_once_and_keep_it_once(local: MakeEngine) -> None:
    engine = local(2048)
    ids = ask_variants(engine, 4)
    replies, peak = run_all(engine, 4)
    stats = [replies[i].stats for i in ids]
    assert stats[0].tokens_prefilled > 900 and stats[0].tokens_shared == 0
    assert all(s.tokens_prefilled < 16 and s.tokens_shared > 900 for s in stats[1:])
    assert all(s.tokens_generated == 24 for s in stats)
    assert peak < 1.3 * (stats[0].tokens_prompt + 24)
    assert len({replies[i].text for i in ids}) > 1


def test_chosen_variant_is_gone_on_with_from_its_cells(local: MakeEngine) -> None:
    engine = local(2048)
    ids = ask_variants(engine, 3)
    replies, _peak = run_all(engine, 3)
    chosen = Message(Role.ASSISTANT, replies[ids[2]].text)
    answer = engine.ask([*QUESTION, chosen, Message(Role.USER, "Why?")], max_tokens=4)
    assert answer.stats.tokens_prefilled < 16 and answer.stats.reevaluated_because is None
    assert [use.chat_id for use in engine.scheduler.uses] == ["chat"]


def test_other_chat_with_the_same_system_prompt_shares_it(local: MakeEngine) -> None:
    engine = local(1024)
    first = engine.ask([TEACHER, Message(Role.USER, "What is a weir?")], max_tokens=8)
    second = engine.ask([TEACHER, Message(Role.USER, "And a dam?")], chat="other", max_tokens=8)
    assert first.stats.tokens_shared == 0 and second.stats.tokens_shared > 15
    assert second.stats.tokens_reused == second.stats.tokens_shared
    used = engine.scheduler.uses
    assert sum(use.n_cells for use in used) - used[0].n_shared == engine.scheduler.cells_used
    assert second.text == local(1024).ask([TEACHER, Message(Role.USER, "And a dam?")], max_tokens=8).text


def test_moving_positions_of_one_chat_leaves_those_who_shared_with_it_alone(local: MakeEngine) -> None:
    engine = local(512)
    ask = Message(Role.USER, "Tell me a long story about a river.")
    eager = CachePolicy(shift=Shift.EAGER)
    engine.ask([TEACHER, Message(Role.USER, "What is a weir?")], max_tokens=8)
    engine.submit([TEACHER, ask], chat="other", max_tokens=600, ignore_eos=True, cache=eager)
    events = engine.run(lambda event: isinstance(event, Finished))
    long_one = events[-1]
    assert isinstance(long_one, Finished) and long_one.stats.shifted and long_one.stats.tokens_shared > 15
    sequence = engine.scheduler.sequence("other")
    assert sequence is not None
    low, high = engine.context.position_range(sequence.seq_id)
    assert (low, high) == (0, sequence.ledger.next_position - 1)


def test_variants_outgrow_the_context_together(local: MakeEngine) -> None:
    engine = local(1536)
    ids = ask_variants(engine, 4, max_tokens=300)
    replies, peak = run_all(engine, 4)
    assert peak <= 1536
    assert all(replies[i].error is None and replies[i].stats.tokens_generated == 300 for i in ids)
    assert any(replies[i].stats.tokens_evicted for i in ids)


@pytest.mark.parametrize("when", [3, 12])
def test_cancelling_one_variant_leaves_the_others_as_they_are(local: MakeEngine, when: int) -> None:
    # What lies beside a sequence changes the order in which sums of f16 are rounded, but not that of q8_0.
    def texts(cancelled: int | None) -> list[str]:
        engine = local(2048, kv_type=KVType.Q8_0)
        ids = ask_variants(engine, 3)
        events: list[Event] = []
        while len(finished(events)) < 3:
            events += engine.scheduler.step()
            n_of_first = sum(isinstance(e, TextDelta) and e.request_id == ids[0] for e in events)
            if cancelled is not None and n_of_first >= when:
                engine.scheduler.cancel(ids[cancelled])
        return [finished(events)[i].text for i in ids]

    undisturbed, disturbed = texts(None), texts(1)
    assert (disturbed[0], disturbed[2]) == (undisturbed[0], undisturbed[2])
    assert undisturbed[1].startswith(disturbed[1])
