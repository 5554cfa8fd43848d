"""Sending, streaming, stopping, and where text lands."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from app.data.stored_message import MessageState
from app.services.prompt import prompt_of
from app.views.message_view import MessageView
from engine.protocol import Cancel, Command, FinishReason, Forget, Generate, Message, Role
from tests.app.conftest import Desk, settle


def test_reply_streams_into_the_transcript_and_the_store(desk: Desk) -> None:
    desk.send("Hello")
    desk.say(desk.engine.newest.write, "Hi ")
    desk.say(desk.engine.newest.write, "there")
    assert desk.shown() == ["Hello", "Hi there"]
    desk.say(desk.engine.newest.finish, "Hi there")
    assert desk.stored() == [("Hello", "complete"), ("Hi there", "complete")]
    numbers = desk.weir.transcript.message_at(1).numbers
    assert numbers is not None
    assert (numbers.tokens_generated, numbers.decode_tps, numbers.ttft_ms) == (12, 41.2, 210.0)


def test_user_message_is_stored_before_the_engine_hears_of_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_when_sent: list[list[tuple[str, str]]] = []
    client = desk.engine.newest

    def send(command: Command) -> None:
        if isinstance(command, Generate):
            stored_when_sent.append(desk.stored(command.chat_id))

    monkeypatch.setattr(client, "send", send)
    desk.send("Important")
    assert stored_when_sent == [[("Important", "complete"), ("", "streaming")]]


def test_partial_reply_is_stored_within_two_seconds(desk: Desk, qtbot: QtBot) -> None:
    desk.send("Hello")
    desk.say(desk.engine.newest.write, "Half of")
    qtbot.waitUntil(lambda: desk.stored()[-1] == ("Half of", "streaming"), timeout=2000)


def test_chat_is_as_it_was_after_a_restart(start: Callable[[], Desk]) -> None:
    first = start()
    first.say(first.engine.newest.load)
    first.send("What is a weir?")
    first.say(first.engine.newest.finish, "A **low** dam.")
    body = _view(first, 1).body
    html, chat_id = body.toHtml(), first.controller.open_chat_id
    first.weir.window.close()
    second = start()
    titles = second.weir.chats.index(0).data()
    second.controller.open(chat_id)
    settle()
    assert titles == "What is a weir?"
    assert second.shown() == ["What is a weir?", "A **low** dam."]
    assert _view(second, 1).body.toHtml() == html


def test_stop_cancels_and_keeps_what_came(desk: Desk) -> None:
    desk.send("Count to a million")
    desk.say(desk.engine.newest.write, "1 2 3")
    desk.controller.stop()
    assert desk.engine.newest.sent[-1] == Cancel(desk.engine.newest.requests[-1].request_id)
    desk.say(desk.engine.newest.finish, "1 2 3", FinishReason.CANCELLED)
    assert desk.stored()[-1] == ("1 2 3", "interrupted")
    assert not desk.controller.running


def test_text_lands_in_the_chat_that_asked(desk: Desk) -> None:
    desk.send("In the first chat")
    first = desk.controller.open_chat_id
    desk.controller.open(None)
    desk.say(desk.engine.newest.write, "An answer")
    assert desk.shown() == []
    desk.send("In the second chat")
    assert desk.shown() == ["In the second chat", ""]
    desk.controller.open(first)
    assert desk.shown() == ["In the first chat", "An answer"]
    assert desk.controller.running


def test_deleting_a_chat_in_mid_reply_leaves_no_trace(desk: Desk) -> None:
    desk.send("Delete me")
    chat_id = desk.controller.open_chat_id
    assert chat_id is not None
    request = desk.engine.newest.requests[-1].request_id
    desk.chats.list.delete(chat_id)
    assert desk.engine.newest.sent[-2:] == [Cancel(request), Forget(chat_id)]
    desk.say(desk.engine.newest.write, "too late")
    desk.say(desk.engine.newest.finish, "too late", FinishReason.CANCELLED)
    assert desk.store.list_chats() == []
    assert desk.shown() == []
    desk.send("Another")
    assert desk.shown() == ["Another", ""]


def test_message_that_cannot_be_answered_returns_as_a_draft(desk: Desk) -> None:
    desk.send("Far too long")
    desk.say(desk.engine.newest.fail, "The message has 9,000 tokens.")
    assert desk.weir.window.composer.text() == "Far too long"
    assert desk.shown() == []
    assert desk.stored() == []
    assert [notice.message for notice in desk.notices] == ["The message has 9,000 tokens."]
    assert desk.weir.window.banner.isVisible()
    assert desk.store.list_chats() == []
    desk.send("Short")
    assert not desk.weir.window.banner.isVisible()


def test_draft_is_kept_per_chat(desk: Desk) -> None:
    desk.send("First")
    desk.say(desk.engine.newest.finish, "Yes")
    first = desk.controller.open_chat_id
    edit = desk.weir.window.composer.edit
    edit.set_text("half a thought")
    desk.controller.open(None)
    assert edit.toPlainText() == ""
    edit.set_text("a new one")
    desk.controller.open(first)
    assert edit.toPlainText() == "half a thought"
    desk.controller.open(None)
    assert edit.toPlainText() == "a new one"


def test_drafts_are_there_again_after_a_restart(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.say(desk.engine.newest.load)
    desk.send("First")
    desk.say(desk.engine.newest.finish, "Yes")
    first = desk.controller.open_chat_id
    desk.weir.window.composer.edit.set_text("half a thought")
    desk.controller.open(None)
    desk.weir.window.composer.edit.set_text("a new one")
    desk.weir.window.close()
    again = start()
    assert again.weir.window.composer.text() == "a new one"
    again.controller.open(first)
    assert again.weir.window.composer.text() == "half a thought"


def test_second_message_waits_for_the_end_of_the_reply(desk: Desk) -> None:
    desk.send("One")
    desk.send("Two")
    assert len(desk.engine.newest.requests) == 1
    assert desk.weir.window.composer.text() == "Two"


def test_closing_in_mid_reply_keeps_the_text_and_ends_the_engine(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.say(desk.engine.newest.load)
    desk.send("Hello")
    desk.say(desk.engine.newest.write, "Hel")
    chat_id, client = desk.controller.open_chat_id, desk.engine.newest
    desk.weir.window.close()
    assert client.closed
    assert Cancel(client.requests[-1].request_id) in client.sent
    again = start()
    assert again.stored(chat_id)[-1] == ("Hel", "interrupted")


def test_prompt_joins_questions_that_were_never_answered(desk: Desk) -> None:
    chat = desk.store.create_chat()
    desk.store.add_user_message(chat.id, "One")
    question = desk.store.messages(chat.id)[0]
    reply = desk.store.begin_reply(question, None)
    desk.store.finish_reply(reply.id, "", MessageState.INTERRUPTED, None)
    desk.store.add_user_message(chat.id, "Two")
    assert prompt_of(desk.store.messages(chat.id)).messages == (Message(Role.USER, "One\n\nTwo"),)


def test_renaming_in_the_list_is_stored(desk: Desk) -> None:
    desk.send("Hello")
    index = desk.weir.chats.index(0)
    assert desk.weir.chats.setData(index, "  Better title ")
    assert desk.store.list_chats()[0].title == "Better title"
    assert desk.weir.chats.index(0).data() == "Better title"


def _view(desk: Desk, row: int) -> MessageView:
    view = desk.weir.window.transcript.message_view(row)
    assert view is not None
    return view
