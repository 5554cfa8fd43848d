"""Where the line stands above which the model does not see, and what is said of the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.item_models.sight import Presence, Sight
from app.services.prompt import prompt_of, sight_of
from engine.protocol import CacheView, FinishReason, Gauges, Message, Policy, PrefillProgress, Role
from tests.app.conftest import Desk, settle
from tests.app.scripted_engine import ScriptedClient


def _turns(desk: Desk, n_turns: int) -> None:
    """Turns that all stay in sight."""
    for turn in range(n_turns):
        desk.send(f"Question {turn}")
        desk.say(desk.engine.newest.see, 0)
        desk.say(desk.engine.newest.finish, f"Answer {turn}")


def _by_hand(desk: Desk) -> ScriptedClient:
    """From now on the test answers what the engine is asked."""
    desk.engine.newest.answers = False
    return desk.engine.newest


def _line(desk: Desk) -> int | None:
    return desk.weir.transcript.line_row


def _presences(desk: Desk) -> list[Presence]:
    transcript = desk.weir.transcript
    return [transcript.presence_of(transcript.message_at(row)) for row in range(transcript.rowCount())]


def test_line_appears_and_moves_as_turns_are_evicted(desk: Desk) -> None:
    _turns(desk, 3)
    assert _line(desk) is None
    desk.send("Question 3")
    desk.say(desk.engine.newest.see, 0)
    assert _line(desk) is None
    desk.say(desk.engine.newest.write, "A long")
    desk.say(desk.engine.newest.see, 2)
    assert _line(desk) == 2
    desk.say(desk.engine.newest.write, " answer")
    desk.say(desk.engine.newest.see, 4)
    assert _line(desk) == 4
    desk.say(desk.engine.newest.see, 5)
    desk.say(desk.engine.newest.finish, "A long answer")
    assert _line(desk) == 5
    assert _presences(desk) == [Presence.UNSEEN] * 5 + [Presence.SEEN] * 3
    assert not desk.weir.transcript.sight.is_forecast


def test_pins_above_the_line_stay_seen_and_a_cut_message_is_marked(desk: Desk) -> None:
    _turns(desk, 3)
    desk.send("Question 3")
    desk.say(lambda: desk.engine.newest.see(4, still_seen=(0,), partly=True))
    assert _presences(desk)[:6] == [
        Presence.STILL_SEEN,
        *[Presence.UNSEEN] * 3,
        Presence.PARTLY_SEEN,
        Presence.SEEN,
    ]
    assert (desk.weir.transcript.sight.n_unseen, desk.weir.transcript.sight.n_above) == (3, 4)


def test_system_prompt_is_no_message_above_the_line(desk: Desk) -> None:
    desk.weir.preferences.update(system_prompt="Be brief.")
    _turns(desk, 2)
    desk.send("Question 2")
    request = desk.engine.newest.requests[-1]
    assert request.messages[0].role is Role.SYSTEM
    desk.say(lambda: desk.engine.newest.see(3, still_seen=(0,)))
    assert _line(desk) == 2
    assert desk.weir.transcript.sight.n_above == 2


def test_after_a_restart_the_line_tells_what_the_next_message_will_make(start: Callable[[], Desk]) -> None:
    first = start()
    first.say(first.engine.newest.load)
    _turns(first, 3)
    chat_id = first.controller.open_chat_id
    first.weir.window.close()
    second = start()
    second.controller.open(chat_id)
    assert second.engine.newest.questions == []
    client = _by_hand(second)
    second.say(client.load)
    question = client.questions[-1]
    assert [message.content for message in question.messages][:2] == ["Question 0", "Answer 0"]
    assert _line(second) is None  # nothing is claimed before the answer
    second.say(client.see, 4)
    assert _line(second) == 4
    line = second.weir.window.transcript.line
    assert line.accessibleName() == "with your next message, the model will not see the 4 messages above"


def test_line_that_was_foretold_stands_while_the_chat_is_read_anew(start: Callable[[], Desk]) -> None:
    first = start()
    first.say(first.engine.newest.load)
    _turns(first, 3)
    chat_id = first.controller.open_chat_id
    first.weir.window.close()
    second = start()
    client = _by_hand(second)
    second.say(client.load)
    second.controller.open(chat_id)
    second.say(client.see, 2)
    second.send("Question 3")
    second.say(client.see, None)  # nothing of it is in the cache yet
    assert (_line(second), second.weir.transcript.sight.is_forecast) == (2, True)
    second.say(client.see, 3)
    assert (_line(second), second.weir.transcript.sight.is_forecast) == (3, False)


def test_first_message_of_a_chat_has_no_line_while_it_is_read(desk: Desk) -> None:
    desk.send("Hello")
    desk.say(desk.engine.newest.see, None)
    assert _line(desk) is None


def test_edit_shows_no_line_of_before_while_the_chat_is_read_anew(desk: Desk) -> None:
    _turns(desk, 3)
    desk.send("Question 3")
    desk.say(desk.engine.newest.see, 4)
    desk.say(desk.engine.newest.finish, "Answer 3")
    assert _line(desk) == 4
    desk.controller.begin_edit(desk.weir.transcript.message_at(2).id)
    desk.send("Edited")
    desk.say(desk.engine.newest.see, None)
    assert _line(desk) is None
    desk.say(desk.engine.newest.see, 0)
    desk.say(desk.engine.newest.finish, "Anew")
    assert _line(desk) is None


def test_opening_another_chat_asks_and_shows_its_own_line(desk: Desk) -> None:
    _turns(desk, 3)
    first = desk.controller.open_chat_id
    desk.controller.open(None)
    _turns(desk, 1)
    assert _line(desk) is None
    client = _by_hand(desk)
    desk.controller.open(first)
    assert client.questions[-1].chat_id == first
    desk.say(client.see, 2)
    assert _line(desk) == 2
    desk.controller.open(None)
    desk.controller.open(first)
    assert _line(desk) is None  # others may have taken its cells meanwhile
    desk.say(client.see, 4)
    assert _line(desk) == 4


def test_answer_about_an_older_list_of_messages_is_ignored(desk: Desk) -> None:
    _turns(desk, 3)
    client, message = _by_hand(desk), desk.weir.transcript.message_at(0)
    desk.chats.pins.set_pinned(message.id, True)
    desk.chats.pins.set_pinned(message.id, False)
    assert [question.messages[0].pinned for question in client.questions[-2:]] == [True, False]
    desk.say(lambda: client.see(4, still_seen=(0,)))  # of the list with the pin
    assert _line(desk) is None
    desk.say(client.see, 2)
    assert _line(desk) == 2


def test_answer_that_comes_after_the_next_message_was_sent_is_ignored(desk: Desk) -> None:
    _turns(desk, 3)
    client, chat_id = _by_hand(desk), desk.controller.open_chat_id
    assert chat_id
    desk.controller.open(None)
    desk.controller.open(chat_id)
    desk.send("Question 3")
    desk.say(client.say, CacheView(chat_id, 6, 4, False, (), (), 0, 0, 8192, True))
    assert _line(desk) is None
    desk.say(client.see, 2)
    assert _line(desk) == 2


@pytest.mark.parametrize("n_messages", [3, 99])
def test_view_of_another_number_of_messages_is_ignored(desk: Desk, n_messages: int) -> None:
    _turns(desk, 1)
    chat_id = desk.controller.open_chat_id
    assert chat_id
    desk.send("Question 1")
    desk.say(desk.engine.newest.say, CacheView(chat_id, n_messages, 2, False, (), (), 0, 0, 8192, False))
    assert _line(desk) is None


def test_view_of_a_chat_that_is_not_open_moves_no_line(desk: Desk) -> None:
    _turns(desk, 2)
    desk.send("Question 2")
    busy = desk.engine.newest
    desk.controller.open(None)
    desk.say(busy.see, 2)
    assert _line(desk) is None
    desk.controller.open(busy.requests[-1].chat_id)
    settle()
    assert _line(desk) == 2


def test_line_is_gone_while_there_is_no_engine(desk: Desk) -> None:
    _turns(desk, 2)
    desk.send("Question 2")
    desk.say(desk.engine.newest.see, 2)
    assert _line(desk) == 2
    desk.say(desk.engine.newest.die)
    assert _line(desk) is None
    assert not desk.weir.window.transcript.line.isVisible()


def test_another_context_size_asks_again(desk: Desk) -> None:
    _turns(desk, 3)
    desk.weir.window.model_bar.cache.n_ctx_chosen.emit(1024)
    client = _by_hand(desk)
    assert client.load_command.n_ctx == 1024
    desk.say(client.load)
    desk.say(lambda: client.see(4, n_cells=1024))
    assert _line(desk) == 4


def test_another_policy_asks_again_and_goes_with_the_next_message(desk: Desk) -> None:
    _turns(desk, 1)
    desk.weir.window.model_bar.cache.policy_chosen.emit("exact")
    assert desk.engine.newest.questions[-1].cache.policy == "exact"
    desk.send("Question 1")
    assert desk.engine.newest.requests[-1].cache.policy == "exact"


def test_reply_that_was_refused_by_a_full_context_says_what_to_do(desk: Desk) -> None:
    _turns(desk, 1)
    desk.weir.preferences.update(policy=Policy.STOP)
    desk.send("Question 1")
    n_asked = len(desk.engine.newest.questions)
    desk.say(desk.engine.newest.finish, "", FinishReason.CONTEXT_FULL)
    assert len(desk.engine.newest.questions) == n_asked + 1  # nothing was told by itself
    view = desk.weir.window.transcript.message_view(3)
    assert view is not None
    assert "choose the endless policy or a larger context" in view.footer.text()
    assert "Nothing was lost" in desk.notices[-1].message
    desk.weir.window.banner.action.click()
    assert desk.weir.preferences.settings.policy == "endless"


def test_gauge_shows_sinks_window_and_what_other_chats_hold(desk: Desk) -> None:
    gauges = Gauges(None, None, None, 5600, 8192, None, None, 1, ())
    _turns(desk, 1)
    desk.send("Question 1")
    client = desk.engine.newest
    desk.say(lambda: client.see(0, n_sinks=42, n_window=100))
    desk.say(client.say, PrefillProgress(client.requests[-1].request_id, 24, 24))
    desk.say(client.write, "One token")
    desk.say(client.say, gauges)
    parts = desk.weir.window.status.bar.parts
    assert (parts.n_sinks, parts.n_window, parts.n_others) == (42, 125, 5433)  # the reply grows in the window
    desk.say(lambda: client.see(0, n_sinks=42, n_window=5210))
    numbers: dict[str, Any] = {"tokens_reused": 5348, "tokens_prefilled": 24, "tokens_evicted": 512}
    desk.say(lambda: client.finish("Done", reevaluated_because="edited message 4", **numbers))
    desk.say(client.say, gauges)
    parts = desk.weir.window.status.bar.parts
    assert (parts.n_sinks, parts.n_window, parts.n_others, parts.n_cells) == (42, 5210, 348, 8192)
    words = (
        "42 sink + 5,210 recent tokens of 8,192; "
        "this turn: 5,348 reused, 24 read, 512 evicted, no shift; read again: edited message 4"
    )
    assert words in desk.weir.window.status.bar.toolTip()
    assert words in desk.weir.window.status.bar.accessibleDescription()
    view = desk.weir.window.transcript.message_view(3)
    assert view is not None
    assert view.footer.text().splitlines()[0] == "Part of the chat was read again: edited message 4"


def test_gauge_of_a_forecast_claims_no_cells_for_the_chat(desk: Desk) -> None:
    _turns(desk, 1)
    client = _by_hand(desk)
    chat_id = desk.controller.open_chat_id
    desk.controller.open(None)
    desk.controller.open(chat_id)
    desk.say(lambda: client.see(0, n_sinks=42, n_window=300))
    desk.say(client.say, Gauges(None, None, None, 77, 8192, None, None, 1, ()))
    parts = desk.weir.window.status.bar.parts
    assert (parts.n_sinks, parts.n_window, parts.n_others) == (0, 0, 77)
    assert "With your next message: 42 sink + 300 recent" in desk.weir.window.status.bar.toolTip()


def test_nothing_seen_puts_the_line_below_all_messages(desk: Desk) -> None:
    _turns(desk, 1)
    ids = prompt_of(desk.store.messages(desk.controller.open_chat_id or "")).ids
    view = CacheView("", 2, None, False, (), (), 0, 0, 8192, True)
    desk.weir.transcript.set_sight(sight_of(view, ids))
    assert _line(desk) == 2
    assert sight_of(CacheView("", 0, None, False, (), (), 0, 0, 8192, True), ()) == Sight(is_forecast=True)


def test_prompt_knows_which_stored_messages_are_in_it(desk: Desk) -> None:
    chat = desk.store.create_chat()
    one, two = (desk.store.add_user_message(chat.id, text) for text in ("One", "Two"))
    desk.store.set_pinned(two.id, True)
    prompt = prompt_of(desk.store.messages(chat.id), "Be brief.")
    assert prompt.messages == (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "One\n\nTwo"))
    assert prompt.messages[1].pinned
    assert prompt.ids == ((), (one.id, two.id))
