"""A turn costs its own tokens, and what is in the cache is always what the ledger says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decoding.admission import admit
from engine.decoding.kv_window import plan_eviction
from engine.decoding.view import forecast, is_current, of_sequence
from engine.errors import BadRequest, ContextFull, PromptTooLong
from engine.protocol import CachePolicy, LookAt, Message, Policy, Role
from tests.engine.decoding.played_chat import Chat


def test_a_turn_decodes_only_its_own_tokens() -> None:
    chat = Chat(1000, system="be kind")
    assert chat.ask("hello") == len("S:be kind|U:hello|A:")
    chat.reply("hi there")
    # The reply's last token, what closes the reply, the message, and the opening of the next reply.
    assert chat.ask("and now?") == len("e" + "|" + "U:and now?|A:")
    assert chat.context.text() == "S:be kind|U:hello|A:hi there|U:and now?|A:"


def test_the_oldest_whole_turns_leave_and_the_system_prompt_stays() -> None:
    chat = Chat(160, system="be kind")
    for i in range(20):
        n_decoded = chat.ask(f"question {i}")
        assert i == 0 or n_decoded == len(f"U:question {i}|A:") + 2
        chat.reply(f"answer {i}")
        chat.check()
    seen = chat.context.text()
    assert seen.startswith("S:be kind|U:question")
    assert "question 0|" not in seen and "U:question 19|A:answer 1" in seen


def test_the_first_four_tokens_stay_without_a_system_prompt() -> None:
    chat = Chat(100)
    for i in range(12):
        chat.ask(f"question {i}")
        chat.reply(f"answer {i}")
    assert chat.context.text().startswith("U:qu")
    assert (chat.sequence.ledger.runs[0].start, chat.sequence.ledger.runs[0].end) == (0, 4)


def test_a_templates_own_system_prompt_is_a_sink() -> None:
    chat = Chat(120, preamble="S:built in|")
    for i in range(12):
        chat.ask(f"question {i}")
        chat.reply(f"answer {i}")
    assert chat.context.text().startswith("S:built in|U:question")


def test_regenerating_decodes_one_token_again() -> None:
    chat = Chat(1000)
    chat.ask("hello")
    chat.reply("one answer")
    chat.messages.pop()
    assert chat.read() == 1
    assert chat.context.text() == "U:hello|A:"


def test_editing_decodes_only_what_comes_after_the_change() -> None:
    chat = Chat(1000)
    chat.ask("first")
    chat.reply("one")
    chat.ask("second question")
    chat.reply("two")
    chat.messages[2:] = [Message(Role.USER, "second thought")]
    assert chat.read() == len("thought|A:")
    assert chat.context.text() == "U:first|A:one|U:second thought|A:"


def test_a_cancelled_prompt_is_continued_where_it_stopped() -> None:
    chat = Chat(1000)
    chat.messages.append(Message(Role.USER, "a long prompt"))
    admit(chat.sequence, chat.messages, chat.prompts, chat.room)
    start, _end = chat.sequence.pending[0]
    chat.sequence.pending = [(start, start + 5)]
    chat.context.decode(chat.sequence)
    assert chat.read() == len("U:a long prompt|A:") - 5
    assert chat.context.text() == "U:a long prompt|A:"


def test_a_long_chat_that_is_opened_again_shows_the_newest_turns() -> None:
    chat = Chat(200, system="be kind")
    for i in range(100):
        chat.messages += [Message(Role.USER, f"question {i}"), Message(Role.ASSISTANT, f"answer {i}")]
    chat.ask("last")
    seen = chat.context.text()
    assert seen.startswith("S:be kind|U:question") and seen.endswith("A:answer 99|U:last|A:")
    assert len(seen) > 200 / 2
    chat.reply("yes")
    assert chat.ask("more") == len("s|U:more|A:")


def test_editing_an_evicted_message_brings_the_newest_turns_before_it_back() -> None:
    chat = Chat(160, system="be kind")
    for i in range(20):
        chat.ask(f"question {i}")
        chat.reply(f"answer {i}")
    chat.messages[7:] = [Message(Role.USER, "changed")]  # questions 0 to 2 stand before it
    chat.read()
    assert chat.context.text() == (
        "S:be kind|" + "".join(f"U:question {i}|A:answer {i}|" for i in range(3)) + "U:changed|A:"
    )


def test_a_message_that_cannot_fit_is_refused_with_both_counts() -> None:
    chat = Chat(100, system="be kind")
    chat.ask("hello")
    chat.reply("hi")
    before = chat.context.text()
    with pytest.raises(PromptTooLong) as caught:
        chat.ask("x" * 90)
    assert (caught.value.n_tokens, caught.value.n_free) == (len("U:|A:") + 90, 100 - 12 - len("S:be kind|"))
    assert chat.context.text() == before
    chat.messages.pop()
    assert chat.ask("still here?") == len("i|U:still here?|A:")


def test_a_system_prompt_that_cannot_fit_is_named() -> None:
    with pytest.raises(PromptTooLong, match="The system prompt has 203 tokens"):
        Chat(100, system="x" * 200).ask("hello")


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_an_empty_message_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        Chat(100).ask(text)


def test_a_cache_that_keeps_its_middle_is_evaluated_again() -> None:
    chat = Chat(100, system="be kind", keeps_middle=True)
    for i in range(20):
        chat.ask(f"question {i}")
        chat.reply(f"answer {i}")
        chat.check()
        assert chat.context.text().startswith("S:be kind|U:question")
    assert chat.context.text().endswith("U:question 19|A:answer 1")


# --- policies -------------------------------------------------------------------------------------


def test_the_exact_policy_reads_what_remains_again_and_says_so() -> None:
    chat = Chat(160, system="be kind", policy=CachePolicy(Policy.EXACT))
    fresh = 0
    for i in range(20):
        decoded = chat.ask(f"question {i}")
        if chat.admitted.reason:
            assert 0 < chat.admitted.evicted < 160
            assert chat.admitted.reason == "policy exact"
            assert decoded > len("U:question 10|A:") + 2
            fresh += 1
        positions = sorted(chat.context.cells)
        assert positions == list(range(len(positions)))  # as if the old turns had never been
        chat.reply(f"answer {i}")
    assert fresh >= 2


def test_the_stop_policy_evicts_nothing() -> None:
    chat = Chat(160, policy=CachePolicy(Policy.STOP))
    with pytest.raises(ContextFull):
        chat.turns(20)
    assert chat.context.text().startswith("U:question 0|A:answer 0|")


def test_no_sinks_at_all_is_the_plain_sliding_window() -> None:
    chat = Chat(160, system="be kind", policy=CachePolicy(n_sinks=0, pin_system=False))
    chat.turns(20)
    assert chat.context.text().startswith("U:question")
    assert chat.admitted.reason is None  # nothing is read again here either


@pytest.mark.parametrize("n_sinks", [81, 160, 2**31 - 2])
def test_sinks_that_leave_no_half_of_the_window_are_refused(n_sinks: int) -> None:
    with pytest.raises(BadRequest, match="80 tokens"):
        Chat(160, policy=CachePolicy(n_sinks=n_sinks)).ask("hello")


@pytest.mark.parametrize("n_sinks", [-1, 2**31 - 1])
def test_impossible_sinks_are_refused_at_once(n_sinks: int) -> None:
    with pytest.raises(BadRequest):
        CachePolicy(n_sinks=n_sinks)


def test_more_sinks_keep_more_first_tokens() -> None:
    chat = Chat(160, policy=CachePolicy(n_sinks=30))
    chat.turns(20)
    assert chat.context.text().startswith("U:question 0|A:answer 0|U:ques")
    assert chat.sequence.ledger.runs[0].end == 30


# --- pins -----------------------------------------------------------------------------------------


def test_a_pinned_message_stays_when_its_turn_leaves() -> None:
    chat = Chat(160, system="be kind")
    chat.turns(2)
    chat.pin(1)
    chat.turns(20)
    seen = chat.context.text()
    assert seen.startswith("S:be kind|U:question 0|U:question")
    assert chat.admitted.reason is None  # nothing had to be read again for it


def test_an_unpinned_message_leaves_like_any_other() -> None:
    chat = Chat(160, system="be kind")
    chat.turns(2)
    chat.pin(1)
    chat.turns(10)
    chat.pin(1, False)
    chat.turns(10)
    assert "question 0|U:" not in chat.context.text()
    assert chat.context.text().startswith("S:be kind|U:question")


def test_pinning_a_message_that_was_evicted_reads_it_again_once() -> None:
    chat = Chat(160, system="be kind")
    chat.turns(20)
    chat.pin(3)
    chat.ask("and?")
    assert chat.admitted.reason == "message 3 was pinned"
    assert chat.context.text().startswith("S:be kind|U:question 1|U:question 1")
    chat.reply("yes")
    assert chat.ask("more") == len("s|U:more|A:")
    assert chat.admitted.reason is None


def test_pins_leave_half_of_the_window() -> None:
    chat = Chat(160, system="be kind")
    chat.messages += [Message(Role.USER, "a" * 30, pinned=True), Message(Role.ASSISTANT, "fine")]
    chat.messages += [Message(Role.USER, "b" * 60, pinned=True), Message(Role.ASSISTANT, "fine")]
    for i in range(8):
        chat.messages += [Message(Role.USER, f"question {i}"), Message(Role.ASSISTANT, f"answer {i}")]
    chat.ask("and?")
    assert chat.sequence.pins.accepted == {1} and chat.sequence.pins.refused == {3}
    assert "a" * 30 in chat.context.text() and "b" * 60 not in chat.context.text()
    chat.reply("yes")
    assert chat.ask("more") == len("s|U:more|A:")  # a refused pin is not tried again at each turn


# --- reasons --------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", ["", "be kind"])
@pytest.mark.parametrize("number", [1, 2, 4])
def test_an_edit_is_named_by_the_number_that_a_person_counts(system: str, number: int) -> None:
    chat = Chat(1000, system=system)
    chat.turns(3)
    index = number - 1 + bool(system)
    chat.messages[index] = Message(chat.messages[index].role, "changed")
    chat.ask("and now?")
    assert chat.admitted.reason == f"edited message {number}"


@pytest.mark.parametrize("system", ["", "be kind"])
@pytest.mark.parametrize("number", [1, 5])
def test_an_edited_message_that_is_the_last_one_is_new_and_nothing_is_read_again(
    system: str, number: int
) -> None:
    chat = Chat(1000, system=system)
    chat.turns(3)
    index = number - 1 + bool(system)
    chat.messages[index:] = [Message(Role.USER, "changed")]
    assert chat.read() <= len("U:changed|A:") + len("S:be kind|")
    assert chat.admitted.reason is None


def test_a_reply_whose_text_is_not_its_tokens_is_named_by_the_token() -> None:
    chat = Chat(1000)
    chat.ask("hello")
    chat.reply("one two three")
    del chat.sequence.seen[1]  # as when a stop string was cut off
    chat.messages[1] = Message(Role.ASSISTANT, "one two")
    chat.ask("more")
    assert chat.admitted.reason == f"template differs at token {len('U:hello|A:one two')}"
    assert chat.context.text() == "U:hello|A:one two|U:more|A:"


def test_a_new_system_prompt_and_a_chat_opened_again_are_named() -> None:
    chat = Chat(1000, system="be kind")
    chat.turns(2)
    chat.messages[0] = Message(Role.SYSTEM, "be brief")
    chat.ask("hello")
    assert chat.admitted.reason == "edited the system prompt"
    again = Chat(1000)
    again.messages = chat.messages[:]
    again.read()
    assert again.admitted.reason == "the chat was not in the cache"


# --- what the model sees --------------------------------------------------------------------------


def test_the_view_names_the_first_message_seen_and_those_still_seen() -> None:
    chat = Chat(160, system="be kind")
    chat.turns(2)
    chat.pin(1)
    chat.turns(20)
    view = of_sequence(chat.sequence, "chat", len(chat.messages), chat.prompts, chat.room)
    assert view.first_seen is not None
    seen = chat.context.text()
    first = chat.messages[view.first_seen].content
    before = chat.messages[view.first_seen - 2].content
    assert f"{first}|" in seen and f"{before}|" not in seen
    assert view.still_seen == (0, 1) and not view.partly and not view.is_forecast
    assert view.n_sinks + view.n_window == len(chat.context.cells)
    assert is_current(chat.sequence, chat.messages)
    assert not is_current(chat.sequence, chat.messages[:-2])


# --- a turn that is too long ------------------------------------------------------------------------


def long_reply(count: int) -> str:
    return "".join(chr(ord("a") + i % 26) for i in range(count))


def after_a_long_reply(
    policy: Policy = Policy.ENDLESS, keeps_middle: bool = False, system: str = "be kind"
) -> Chat:
    """A chat of 200 cells that its last reply has filled."""
    chat = Chat(200, system=system, keeps_middle=keeps_middle, policy=CachePolicy(policy))
    chat.turns(2)
    chat.ask("tell me")
    chat.reply(long_reply(170))
    return chat


@pytest.mark.parametrize("system", ["", "be kind"])
def test_a_reply_that_fills_the_window_loses_only_its_beginning(system: str) -> None:
    chat = after_a_long_reply(system=system)
    n_before = len(chat.context.cells)
    assert chat.ask("shorter, please") == len("x" + "|U:shorter, please|A:")
    sinks = "S:be kind|" if system else "U:qu"
    step = (200 - len(sinks)) // 4
    assert chat.admitted.evicted == step and chat.admitted.reason is None
    seen = chat.context.text()
    end = long_reply(170) + "|U:shorter, please|A:"
    assert seen == sinks + end[len(end) - (n_before - len(sinks) - step + len("x|U:shorter, please|A:")) :]
    view = of_sequence(chat.sequence, "chat", len(chat.messages), chat.prompts, chat.room)
    assert (view.first_seen, view.partly) == (len(chat.messages) - 2, True)


@pytest.mark.parametrize("system", ["", "be kind"])
@pytest.mark.parametrize(
    ("policy", "keeps_middle"), [(Policy.ENDLESS, False), (Policy.EXACT, False), (Policy.ENDLESS, True)]
)
def test_what_is_read_anew_begins_in_the_middle_of_a_long_reply(
    policy: Policy, keeps_middle: bool, system: str
) -> None:
    chat = after_a_long_reply(policy, keeps_middle, system)
    if policy is Policy.ENDLESS and not keeps_middle:
        chat.sequence.clear()  # as after a restart
    n_before = chat.sequence.ledger.n_resident
    chat.ask("shorter, please")
    sinks = "S:be kind|" if system else "U:te"
    seen, end = chat.context.text(), long_reply(170) + "|U:shorter, please|A:"
    n_window = len(seen) - len(sinks)
    assert seen == sinks + end[len(end) - n_window :]
    assert 100 < n_window <= 200 - len(sinks) - chat.room.reserve
    assert sorted(chat.context.cells) == list(range(len(seen)))
    chat.check()
    view = of_sequence(chat.sequence, "chat", len(chat.messages), chat.prompts, chat.room)
    assert (view.first_seen, view.partly) == (len(chat.messages) - 2, True)
    if n_before:
        n_kept = n_window - len("x|U:shorter, please|A:")
        assert chat.admitted.evicted == n_before - len(sinks) - n_kept
    chat.reply("fine")
    assert chat.ask("more") == len("e|U:more|A:") or policy is Policy.EXACT or keeps_middle


def test_the_stop_policy_does_not_read_a_long_reply_without_its_beginning() -> None:
    chat = after_a_long_reply()
    chat.sequence.clear()
    chat.room = replace(chat.room, policy=CachePolicy(Policy.STOP))
    with pytest.raises(ContextFull):
        chat.ask("shorter, please")


def test_cells_of_the_same_beginning_are_kept_when_a_long_reply_is_cut() -> None:
    chat = after_a_long_reply(Policy.EXACT)
    chat.ask("one")
    before = chat.context.text()
    chat.messages[-1] = Message(Role.USER, "two")
    assert chat.read() == len("two|A:")
    assert chat.context.text() == before.replace("one", "two")


@pytest.mark.parametrize("n_sinks", [30, 60])
def test_first_tokens_that_stay_are_read_of_a_long_turn_too(n_sinks: int) -> None:
    chat = Chat(200, policy=CachePolicy(n_sinks=n_sinks))
    chat.messages = [Message(Role.USER, "hello"), Message(Role.ASSISTANT, long_reply(230))]
    chat.ask("x" * 60)
    seen, whole = chat.context.text(), "U:hello|A:" + long_reply(230)
    assert seen.startswith(whole[:n_sinks]) and whole[: n_sinks + 1] not in seen
    assert seen.endswith(whole[-40:] + "|U:" + "x" * 60 + "|A:")


def test_a_turn_of_which_only_first_tokens_would_stay_is_left_out() -> None:
    chat = Chat(200, policy=CachePolicy(n_sinks=60))
    chat.messages = [Message(Role.USER, "hello"), Message(Role.ASSISTANT, long_reply(230))]
    chat.ask("x" * 150)
    assert chat.context.text() == "U:" + "x" * 150 + "|A:"


def test_the_undecoded_end_of_a_turn_that_leaves_leaves_with_it() -> None:
    chat = Chat(200, system="be kind")
    chat.turns(1)
    assert chat.ask("x" * 150) == len("U:|A:") + 150
    assert chat.context.text() == "S:be kind|U:" + "x" * 150 + "|A:"
    chat.check()
    view = of_sequence(chat.sequence, "chat", len(chat.messages), chat.prompts, chat.room)
    assert (view.first_seen, view.partly) == (3, False)
    assert view.n_chat == len("S:be kind|U:question 0|A:answer 0|U:|A:") + 150
    chat.reply("yes")
    assert chat.ask("more") == len("s|U:more|A:")


def test_a_reply_is_not_seen_if_only_what_closes_it_is_there() -> None:
    chat = Chat(400, system="be kind")
    chat.turns(2)
    chat.ask("and?")
    ledger = chat.sequence.ledger
    assert ledger.spans[4].text_end is not None
    assert chat.sequence.evict([(ledger.spans[1].start, ledger.spans[4].text_end)])
    view = of_sequence(chat.sequence, "chat", len(chat.messages), chat.prompts, chat.room)
    assert (view.first_seen, view.partly) == (5, False)


def test_an_edited_message_keeps_its_beginning_or_is_refused() -> None:
    chat = Chat(200)
    chat.turns(1)
    chat.ask("y" * 80)
    chat.messages[-1] = Message(Role.USER, "y" * 80 + "z" * 110)
    with pytest.raises(PromptTooLong, match="195 tokens"):
        chat.read()
    chat.messages[-1] = Message(Role.USER, "y" * 80 + "z" * 90)
    chat.read()
    assert chat.context.text().endswith("U:" + "y" * 80 + "z" * 90 + "|A:")


def test_a_turn_that_lost_its_beginning_is_seen_partly() -> None:
    chat = Chat(100)
    chat.ask("hello")
    chat.reply("x" * 300)
    view = of_sequence(chat.sequence, "chat", 2, chat.prompts, chat.room)
    assert (view.first_seen, view.partly) == (1, True)


def test_the_forecast_is_what_the_next_message_shows() -> None:
    chat = Chat(160, system="be kind")
    for i in range(30):
        chat.messages += [Message(Role.USER, f"question {i}"), Message(Role.ASSISTANT, f"answer {i}")]
    view = forecast(LookAt("chat", tuple(chat.messages)), chat.prompts, chat.room)
    assert view.is_forecast and view.first_seen and view.still_seen == (0,)
    chat.ask("?")
    actual = of_sequence(chat.sequence, "chat", len(chat.messages), chat.prompts, chat.room)
    assert (actual.first_seen, actual.still_seen) == (view.first_seen, view.still_seen)


def test_the_forecast_of_a_chat_that_fits_sees_all_of_it() -> None:
    chat = Chat(400, preamble="S:built in|")
    chat.messages += [Message(Role.USER, "hello"), Message(Role.ASSISTANT, "hi")]
    view = forecast(LookAt("chat", tuple(chat.messages)), chat.prompts, chat.room)
    assert (view.first_seen, view.still_seen) == (0, ())


def test_the_forecast_of_an_empty_chat_sees_nothing() -> None:
    chat = Chat(160)
    view = forecast(LookAt("chat", ()), chat.prompts, chat.room)
    assert (view.first_seen, view.still_seen, view.n_window) == (None, (), 0)


def test_ten_thousand_evictions_in_a_row_leave_ledger_and_cache_in_step() -> None:
    chat = Chat(64, policy=CachePolicy(n_sinks=4))
    chat.ask("go")
    sequence, evictions = chat.sequence, 0
    while evictions < 10_000:
        sequence.ledger.append([ord("x")])
        sequence.pending = [(len(sequence.ledger) - 1, len(sequence.ledger))]
        if sequence.ledger.n_resident + 1 > 64:
            assert sequence.evict(plan_eviction(sequence.occupancy(64, 4), 1))
            evictions += 1
            if evictions % 3 == 0:
                sequence.compact()
        chat.context.decode(sequence)
    chat.check()
    assert len(sequence.ledger.runs) <= 2


steps = st.lists(
    st.tuples(
        st.sampled_from(["ask", "regenerate", "edit", "pin", "restart"]),
        st.integers(1, 60),
        st.integers(1, 90),
        st.integers(0, 50),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(steps, st.booleans(), st.integers(0, 25), st.integers(64, 200))
def test_ledger_and_cache_agree_whatever_is_said(
    steps: list[tuple[str, int, int, int]], keeps_middle: bool, n_system: int, capacity: int
) -> None:
    chat = Chat(capacity, system="s" * n_system, keeps_middle=keeps_middle)
    first_user = len(chat.messages)
    for number, (action, n_ask, n_reply, where) in enumerate(steps):
        answered = len(chat.messages) > first_user + 1
        if action == "pin" and answered:
            index = where % len(chat.messages)
            chat.pin(index, not chat.messages[index].pinned)
            continue
        if action == "restart":
            chat.sequence.clear()
            continue
        if action == "regenerate" and answered:
            chat.messages.pop()
        elif action == "edit" and answered:
            turns = (len(chat.messages) - first_user) // 2
            chat.messages[first_user + 2 * (where % turns) :] = [Message(Role.USER, f"{number}" * n_ask)]
        else:
            chat.messages.append(Message(Role.USER, f"{number}" * n_ask))
        try:
            chat.read()
        except PromptTooLong:
            chat.messages.pop()
            if len(chat.messages) > first_user and chat.messages[-1].role is Role.USER:
                chat.messages.pop()
            chat.check()
            continue
        chat.check()
        seen = chat.context.text()
        # A reply that is pinned stays, also where its question has left.
        starts = ("U:", "A:") if any(m.pinned and m.role is Role.ASSISTANT for m in chat.messages) else "U:"
        assert seen.startswith("S:" + "s" * n_system + "|" if n_system else starts)
        assert seen.endswith("U:" + chat.messages[-1].content + "|A:")
        chat.reply(f"<{number}>" * n_reply)
        chat.check()
        assert len(chat.context.cells) <= capacity


@settings(max_examples=150, deadline=None)
@given(
    turns=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 300), st.booleans()), max_size=8),
    keeps_middle=st.booleans(),
    n_system=st.integers(0, 25),
    n_sinks=st.integers(0, 32),
    capacity=st.integers(64, 200),
)
def test_the_forecast_of_any_chat_is_what_the_next_message_shows(
    turns: list[tuple[int, int, bool]], keeps_middle: bool, n_system: int, n_sinks: int, capacity: int
) -> None:
    policy = CachePolicy(n_sinks=n_sinks)
    chat = Chat(capacity, system="s" * n_system, keeps_middle=keeps_middle, policy=policy)
    for n_ask, n_reply, pinned in turns:
        chat.messages.append(Message(Role.USER, "q" * n_ask, pinned=pinned))
        chat.messages.append(Message(Role.ASSISTANT, long_reply(n_reply)))
    foreseen = forecast(LookAt("chat", tuple(chat.messages)), chat.prompts, chat.room)
    try:
        chat.ask("?")
    except PromptTooLong:
        assert foreseen.n_room == 0
        return
    chat.check()
    seen = of_sequence(chat.sequence, "chat", len(chat.messages), chat.prompts, chat.room)
    first_seen = len(chat.messages) - 1 if foreseen.first_seen is None else foreseen.first_seen
    assert (seen.first_seen, seen.partly) == (first_seen, foreseen.partly)
    assert (seen.still_seen, seen.refused_pins) == (foreseen.still_seen, foreseen.refused_pins)
    assert seen.n_sinks + seen.n_window == foreseen.n_sinks + foreseen.n_window + len("U:?|A:")
    assert foreseen.n_chat is None or foreseen.n_chat >= foreseen.n_sinks + foreseen.n_window
