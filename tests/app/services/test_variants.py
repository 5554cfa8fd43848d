"""Several answers to one message: asked for, streamed, stopped, chosen, refused, and after a restart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.data.chat_export import export_markdown
from engine.protocol import Cancel, ErrorCode, FinishReason, Forget, Generate, Sampling, variant_chat_id
from tests.app.conftest import Desk, settle


def _ask(desk: Desk, n_replies: int, text: str = "Why?") -> list[Generate]:
    """Have a message answered several times; the requests."""
    n_before = len(desk.engine.newest.requests)
    desk.weir.window.composer.edit.set_text(text)
    desk.weir.window.composer.variants_requested.emit(n_replies)
    settle()
    return desk.engine.newest.requests[n_before:]


def _write(desk: Desk, requests: list[Generate]) -> None:
    for number, request in enumerate(requests, start=1):
        desk.say(desk.engine.newest.write, f"Answer {number}", request)


def _finish(desk: Desk, requests: list[Generate]) -> None:
    for number, request in enumerate(requests, start=1):
        desk.say(desk.engine.newest.finish, f"Answer {number}", FinishReason.STOP, request)


def _beside(desk: Desk) -> list[str]:
    """The texts that stand side by side."""
    last = desk.weir.transcript.last()
    return [variant.content for variant in desk.weir.transcript.variants_of(last)] if last else []


def _choose(desk: Desk, number: int) -> None:
    last = desk.weir.transcript.last()
    assert last is not None
    desk.weir.window.transcript.messages.choose_requested.emit(
        desk.weir.transcript.variants_of(last)[number - 1].id
    )
    settle()


def test_variants_are_asked_for_together_each_with_a_sequence_of_its_own(desk: Desk) -> None:
    requests = _ask(desk, 4)
    chat_id = desk.controller.open_chat_id
    assert chat_id is not None
    assert [request.chat_id for request in requests] == [variant_chat_id(chat_id, n) for n in range(4)]
    assert len({request.request_id for request in requests}) == 4
    assert {request.messages for request in requests} == {requests[0].messages}
    assert [message.content for message in requests[0].messages] == ["Why?"]


def test_variants_stream_side_by_side_and_all_of_it_is_stored(desk: Desk, qtbot: QtBot) -> None:
    requests = _ask(desk, 3)
    assert _beside(desk) == ["", "", ""]
    _write(desk, requests)
    assert _beside(desk) == ["Answer 1", "Answer 2", "Answer 3"]
    last = desk.weir.transcript.last()
    assert last is not None
    ids = [variant.id for variant in desk.weir.transcript.variants_of(last)]

    def stored() -> list[tuple[str, str]]:
        return [(m.content, m.state.value) for m in desk.store.some_messages(last.chat_id, ids)]

    qtbot.waitUntil(lambda: stored() == [(f"Answer {n}", "streaming") for n in (1, 2, 3)], timeout=2000)
    _finish(desk, requests)
    assert stored() == [(f"Answer {n}", "complete") for n in (1, 2, 3)]
    assert not desk.controller.running


def test_the_chat_is_answered_until_the_last_variant_has_ended(desk: Desk) -> None:
    first, second = _ask(desk, 2)
    ended: list[str] = []
    desk.chats.answering.ended.connect(ended.append)
    desk.say(desk.engine.newest.finish, "One", FinishReason.STOP, first)
    assert desk.chats.answering.is_answering(desk.controller.open_chat_id)
    assert ended == []
    desk.say(desk.engine.newest.finish, "Two", FinishReason.STOP, second)
    assert not desk.controller.running
    assert ended == [desk.controller.open_chat_id]


def test_a_seed_that_was_chosen_gives_each_variant_another_one(desk: Desk) -> None:
    desk.weir.preferences.update(sampling=Sampling(seed=2**32 - 2))
    assert [request.sampling.seed for request in _ask(desk, 3)] == [2**32 - 2, 2**32 - 1, 0]


def test_without_a_seed_each_variant_draws_its_own(desk: Desk) -> None:
    assert [request.sampling.seed for request in _ask(desk, 2)] == [None, None]


def test_at_temperature_zero_one_answer_is_written_and_the_reason_is_told(desk: Desk) -> None:
    desk.weir.preferences.update(sampling=Sampling(temperature=0.0))
    assert len(_ask(desk, 4)) == 1
    assert desk.notices[-1].message.startswith("At temperature 0 all answers are the same")
    assert _beside(desk) == []


def test_stop_ends_all_variants(desk: Desk) -> None:
    requests = _ask(desk, 3)
    _write(desk, requests)
    desk.controller.stop()
    cancelled = [c.request_id for c in desk.engine.newest.sent if isinstance(c, Cancel)]
    assert cancelled == [request.request_id for request in requests]


def test_one_variant_is_stopped_and_the_others_go_on(desk: Desk) -> None:
    requests = _ask(desk, 3)
    _write(desk, requests)
    last = desk.weir.transcript.last()
    assert last is not None
    desk.weir.window.transcript.messages.stop_requested.emit(desk.weir.transcript.variants_of(last)[1].id)
    assert desk.engine.newest.sent[-1] == Cancel(requests[1].request_id)
    desk.say(desk.engine.newest.finish, "Answer 2", FinishReason.CANCELLED, requests[1])
    desk.say(desk.engine.newest.write, " and more", requests[2])
    assert _beside(desk) == ["Answer 1", "Answer 2", "Answer 3 and more"]
    assert desk.controller.running


def test_the_chosen_variant_is_gone_on_with_and_the_others_stay_as_versions(desk: Desk) -> None:
    requests = _ask(desk, 4)
    _write(desk, requests)
    _finish(desk, requests)
    _choose(desk, 3)
    assert desk.shown() == ["Why?", "Answer 3"]
    assert _beside(desk) == []
    last = desk.weir.transcript.last()
    assert last is not None
    assert (last.version, last.n_versions) == (3, 4)
    desk.chats.branches.show_version(last.id, 4)
    assert desk.shown() == ["Why?", "Answer 4"]
    desk.chats.branches.show_version(desk.weir.transcript.message_at(1).id, 3)
    desk.send("And then?")
    asked = desk.engine.newest.requests[-1]
    assert [message.content for message in asked.messages] == ["Why?", "Answer 3", "And then?"]
    assert asked.chat_id == desk.controller.open_chat_id


def test_choosing_ends_what_is_still_being_written_beside_it(desk: Desk) -> None:
    requests = _ask(desk, 3)
    _write(desk, requests)
    _choose(desk, 2)
    cancelled = {c.request_id for c in desk.engine.newest.sent if isinstance(c, Cancel)}
    assert cancelled == {requests[0].request_id, requests[2].request_id}
    desk.say(desk.engine.newest.write, " goes on", requests[1])
    assert desk.shown() == ["Why?", "Answer 2 goes on"]
    for request in (requests[0], requests[2]):
        desk.say(desk.engine.newest.finish, "cut", FinishReason.CANCELLED, request)
    assert desk.controller.running
    desk.say(desk.engine.newest.finish, "Answer 2 goes on", FinishReason.STOP, requests[1])
    assert desk.shown() == ["Why?", "Answer 2 goes on"]


def test_who_writes_on_without_choosing_has_taken_the_first(desk: Desk) -> None:
    requests = _ask(desk, 2)
    _finish(desk, requests)
    desk.send("And then?")
    assert desk.shown() == ["Why?", "Answer 1", "And then?", ""]
    asked = desk.engine.newest.requests[-1]
    assert [message.content for message in asked.messages] == ["Why?", "Answer 1", "And then?"]
    view = desk.weir.window.transcript.message_view(1)
    assert view is not None
    assert view.actions_row.versions.label.text() == "1/2"


def test_a_reply_is_written_again_several_times(desk: Desk) -> None:
    desk.send("Why?")
    desk.say(desk.engine.newest.finish, "First")
    view = desk.weir.window.transcript.message_view(1)
    assert view is not None
    view.actions_row.again_requested.emit(2)
    settle()
    requests = desk.engine.newest.requests[1:]
    assert len(requests) == 2
    _write(desk, requests)
    _finish(desk, requests)
    assert _beside(desk) == ["Answer 1", "Answer 2"]
    _choose(desk, 1)
    last = desk.weir.transcript.last()
    assert last is not None
    assert (last.content, last.version, last.n_versions) == ("Answer 1", 2, 3)


def test_an_edited_message_is_answered_several_times(desk: Desk) -> None:
    desk.send("Why?")
    desk.say(desk.engine.newest.finish, "First")
    desk.controller.begin_edit(desk.weir.transcript.message_at(0).id)
    requests = _ask(desk, 2, "Why not?")
    assert len(requests) == 2
    _write(desk, requests)
    assert desk.shown() == ["Why not?", "Answer 1"]
    assert _beside(desk) == ["Answer 1", "Answer 2"]


def test_other_chats_do_not_end_the_choice(desk: Desk) -> None:
    requests = _ask(desk, 2)
    chat_id = desk.controller.open_chat_id
    desk.controller.open(None)
    _write(desk, requests)
    desk.controller.open(chat_id)
    assert _beside(desk) == ["Answer 1", "Answer 2"]
    _finish(desk, requests)
    assert _beside(desk) == ["Answer 1", "Answer 2"]


def test_after_a_restart_nobody_has_chosen_and_all_are_versions(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.say(desk.engine.newest.load)
    requests = _ask(desk, 3)
    _write(desk, requests)
    desk.say(desk.engine.newest.finish, "Answer 1", FinishReason.STOP, requests[0])
    chat_id = desk.controller.open_chat_id
    desk.weir.window.close()
    again = start()
    again.controller.open(chat_id)
    settle()
    assert again.shown() == ["Why?", "Answer 1"]
    shown = again.weir.transcript.message_at(1)
    assert (shown.version, shown.n_versions) == (1, 3)
    again.chats.branches.show_version(shown.id, 3)
    assert again.stored(chat_id)[-1] == ("Answer 3", "interrupted")


def test_a_variant_that_could_not_be_leaves_the_others(desk: Desk) -> None:
    requests = _ask(desk, 3)
    _write(desk, requests[1:])
    desk.say(desk.engine.newest.fail, "No room.", ErrorCode.PROMPT_TOO_LONG, requests[0])
    assert _beside(desk) == ["Answer 1", "Answer 2"]
    assert desk.shown() == ["Why?", "Answer 1"]
    assert desk.notices[-1].message == "No room."
    _finish(desk, requests[1:])
    assert desk.stored()[-1] == ("Answer 1", "complete")


def test_the_question_comes_back_when_no_variant_could_be(desk: Desk) -> None:
    requests = _ask(desk, 2)
    for request in requests:
        desk.say(desk.engine.newest.fail, "Too long.", ErrorCode.PROMPT_TOO_LONG, request)
    assert desk.shown() == []
    assert desk.weir.window.composer.text() == "Why?"
    assert not desk.controller.running


def test_variants_of_a_dead_engine_keep_their_texts(desk: Desk) -> None:
    requests = _ask(desk, 2)
    _write(desk, requests)
    desk.say(desk.engine.newest.die)
    last = desk.weir.transcript.last()
    assert last is not None
    assert [variant.state.value for variant in desk.weir.transcript.variants_of(last)] == ["interrupted"] * 2
    assert _beside(desk) == ["Answer 1", "Answer 2"]


def test_variants_wait_for_a_model_and_are_asked_for_then(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.weir.window.composer.edit.set_text("Why?")
    desk.weir.window.composer.variants_requested.emit(3)
    settle()
    assert desk.engine.newest.requests == []
    desk.say(desk.engine.newest.load)
    assert len(desk.engine.newest.requests) == 3


def test_a_deleted_chat_ends_all_its_variants(desk: Desk) -> None:
    requests = _ask(desk, 2)
    _write(desk, requests)
    chat_id = desk.controller.open_chat_id
    assert chat_id is not None
    desk.chats.list.delete(chat_id)
    settle()
    assert [c for c in desk.engine.newest.sent if isinstance(c, Forget)] == [Forget(chat_id)]
    assert not desk.chats.answering.is_answering(chat_id)
    _write(desk, requests)  # late words land nowhere
    desk.chats.list.restore()
    settle()
    desk.controller.open(chat_id)
    assert desk.stored(chat_id)[-1] == ("Answer 1", "interrupted")


def test_an_export_before_the_choice_has_the_first_variant(desk: Desk) -> None:
    requests = _ask(desk, 2)
    _write(desk, requests)
    _finish(desk, requests)
    chat_id = desk.controller.open_chat_id
    assert chat_id is not None
    text = export_markdown(desk.store, chat_id)
    assert "Answer 1" in text
    assert "Answer 2" not in text
    whole = desk.store.whole_chat(chat_id)
    assert whole is not None
    assert [message.content for message in whole.messages] == ["Why?", "Answer 1", "Answer 2"]


def test_a_found_variant_is_shown(desk: Desk) -> None:
    requests = _ask(desk, 2)
    _write(desk, requests)
    _finish(desk, requests)
    last = desk.weir.transcript.last()
    assert last is not None
    second = desk.weir.transcript.variants_of(last)[1]
    desk.controller.open_at(second.chat_id, second.id)
    assert _beside(desk) == ["Answer 1", "Answer 2"]
    assert desk.shown() == ["Why?", "Answer 2"]


def test_what_a_turn_spared_and_drafted_stands_below_the_reply(desk: Desk) -> None:
    desk.send("Why?")
    numbers: dict[str, Any] = {"tokens_restored": 3200, "tokens_shared": 1000, "draft_gain": 1.31}
    numbers |= {"tokens_drafted": 60, "tokens_accepted": 41}
    desk.say(lambda: desk.engine.newest.finish("Because.", **numbers))
    view = desk.weir.window.transcript.message_view(1)
    assert view is not None
    assert view.footer.text().endswith(
        "drafts 41 of 60, 1.3\N{MULTIPLICATION SIGN} as fast"
        "  \N{MIDDLE DOT}  3,200 restored  \N{MIDDLE DOT}  1,000 shared"
    )


@pytest.mark.parametrize("speculate", [True, False])
def test_drafting_is_asked_for_as_the_settings_say(desk: Desk, speculate: bool) -> None:
    desk.weir.preferences.update(speculate=speculate)
    desk.send("Why?")
    assert desk.engine.newest.requests[-1].speculate is speculate
