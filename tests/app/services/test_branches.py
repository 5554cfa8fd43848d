"""Editing, writing again, going on, deleting, pinning; and that nothing is lost by it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.views.message_view import MessageView
from engine.protocol import Cancel, FinishReason
from tests.app.conftest import Desk, settle


def _turns(desk: Desk, n_turns: int) -> None:
    for turn in range(n_turns):
        desk.send(f"Question {turn}")
        desk.say(desk.engine.newest.finish, f"Answer {turn}")


def _view(desk: Desk, row: int) -> MessageView:
    view = desk.weir.window.transcript.message_view(row)
    assert view is not None
    return view


def _click(desk: Desk, row: int, name: str) -> None:
    button = getattr(_view(desk, row).actions_row, name)
    assert button.isVisibleTo(desk.weir.window)
    button.click()
    settle()


def _asked(desk: Desk) -> list[str]:
    return [message.content for message in desk.engine.newest.requests[-1].messages]


def test_edited_message_takes_the_place_of_all_that_came_after_it(desk: Desk) -> None:
    _turns(desk, 3)
    desk.weir.window.composer.edit.set_text("half a thought")
    _click(desk, 2, "edit")
    composer = desk.weir.window.composer
    assert composer.text() == "Question 1"
    assert composer.editing.text().startswith("Editing message 3")
    desk.send("Better question")
    assert desk.shown() == ["Question 0", "Answer 0", "Better question", ""]
    assert _asked(desk) == ["Question 0", "Answer 0", "Better question"]
    assert composer.editing.isHidden()
    assert composer.text() == "half a thought"
    desk.say(desk.engine.newest.finish, "Better answer")
    assert [text for text, _ in desk.stored()] == [
        "Question 0",
        "Answer 0",
        "Better question",
        "Better answer",
    ]


def test_escape_leaves_an_edit_and_stops_nothing(desk: Desk) -> None:
    _turns(desk, 1)
    desk.weir.window.composer.edit.set_text("half a thought")
    _click(desk, 0, "edit")
    desk.weir.window.activateWindow()
    QTest.keyClick(desk.weir.window, Qt.Key.Key_Escape)
    assert desk.weir.window.composer.text() == "half a thought"
    assert desk.weir.window.composer.editing.isHidden()
    assert desk.shown() == ["Question 0", "Answer 0"]
    assert not any(isinstance(command, Cancel) for command in desk.engine.newest.sent)
    desk.send("A new one")
    assert desk.shown()[:3] == ["Question 0", "Answer 0", "A new one"]


def test_edit_belongs_to_its_chat(desk: Desk) -> None:
    _turns(desk, 1)
    first = desk.controller.open_chat_id
    _click(desk, 0, "edit")
    desk.controller.open(None)
    assert desk.weir.window.composer.editing.isHidden()
    assert desk.weir.window.composer.text() == ""
    desk.controller.open(first)
    assert not desk.weir.window.composer.editing.isHidden()
    assert desk.weir.window.composer.text() == "Question 0"


def _versions(desk: Desk, row: int) -> tuple[str, bool]:
    switch = _view(desk, row).actions_row.versions
    return switch.label.text(), switch.isVisibleTo(desk.weir.window)


def _switch(desk: Desk, row: int, arrow: str) -> None:
    button = getattr(_view(desk, row).actions_row.versions, arrow)
    assert button.isEnabled()
    button.click()
    settle()


def test_edited_message_and_what_came_after_it_stay_as_another_version(desk: Desk) -> None:
    _turns(desk, 2)
    assert _versions(desk, 0) == ("1/1", False)
    _click(desk, 0, "edit")
    desk.send("Another beginning")
    desk.say(desk.engine.newest.finish, "Another answer")
    assert desk.shown() == ["Another beginning", "Another answer"]
    assert _versions(desk, 0) == ("2/2", True)
    _switch(desk, 0, "before")
    assert desk.shown() == ["Question 0", "Answer 0", "Question 1", "Answer 1"]
    assert _versions(desk, 0) == ("1/2", True)
    desk.send("On")
    assert _asked(desk) == ["Question 0", "Answer 0", "Question 1", "Answer 1", "On"]


def test_chosen_version_is_shown_after_a_restart(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.say(desk.engine.newest.load)
    _turns(desk, 1)
    _click(desk, 1, "again")
    desk.say(desk.engine.newest.finish, "Other answer")
    _switch(desk, 1, "before")
    chat_id = desk.controller.open_chat_id
    desk.weir.window.close()
    again = start()
    again.controller.open(chat_id)
    settle()
    assert again.shown() == ["Question 0", "Answer 0"]
    assert _versions(again, 1) == ("1/2", True)


def test_versions_cannot_be_switched_while_a_reply_is_written(desk: Desk) -> None:
    _turns(desk, 1)
    _click(desk, 1, "again")
    desk.say(desk.engine.newest.write, "Oth")
    desk.chats.branches.show_version(desk.weir.transcript.message_at(1).id, 1)
    settle()
    assert desk.shown() == ["Question 0", "Oth"]
    assert not _view(desk, 1).actions_row.versions.isEnabled()


def test_again_writes_any_reply_anew_and_keeps_the_old_one(desk: Desk) -> None:
    _turns(desk, 2)
    _click(desk, 1, "again")
    assert desk.shown() == ["Question 0", ""]
    assert _asked(desk) == ["Question 0"]
    assert _view(desk, 1).actions_row.again.isHidden()
    desk.say(desk.engine.newest.finish, "Other answer")
    assert desk.shown() == ["Question 0", "Other answer"]
    _switch(desk, 1, "before")
    assert desk.shown() == ["Question 0", "Answer 0", "Question 1", "Answer 1"]


def test_reply_that_cannot_be_written_again_comes_back(desk: Desk) -> None:
    _turns(desk, 2)
    _click(desk, 1, "again")
    desk.say(desk.engine.newest.fail, "The template is broken.")
    assert desk.shown() == ["Question 0", "Answer 0", "Question 1", "Answer 1"]
    assert [state for _, state in desk.stored()] == ["complete"] * 4
    assert _versions(desk, 1) == ("1/1", False)
    assert desk.weir.window.composer.text() == ""


def test_stopped_reply_goes_on_where_it_ended(desk: Desk) -> None:
    desk.send("Count")
    desk.say(desk.engine.newest.write, "one, two")
    desk.say(desk.engine.newest.finish, "one, two", FinishReason.CANCELLED)
    _click(desk, 1, "go_on")
    assert _asked(desk) == ["Count", "one, two"]
    assert desk.shown() == ["Count", "one, two"]
    desk.say(desk.engine.newest.write, ", three")
    assert desk.shown()[-1] == "one, two, three"
    desk.say(desk.engine.newest.finish, ", three, four")
    assert desk.stored()[-1] == ("one, two, three, four", "complete")
    numbers = desk.weir.transcript.message_at(1).numbers
    assert numbers is not None
    assert numbers.tokens_generated == 24
    assert numbers.decode_tps == pytest.approx(41.2)
    assert _view(desk, 1).actions_row.go_on.isHidden()


def test_reply_that_cannot_go_on_is_what_it_was(desk: Desk) -> None:
    desk.send("Count")
    desk.say(desk.engine.newest.finish, "one, two", FinishReason.CANCELLED)
    before = desk.weir.transcript.message_at(1)
    _click(desk, 1, "go_on")
    desk.say(desk.engine.newest.fail, "The reply has 9,000 tokens.")
    assert desk.weir.transcript.message_at(1) == before
    assert desk.stored()[-1] == ("one, two", "interrupted")
    assert desk.weir.window.composer.text() == ""


def test_deleted_message_is_out_of_the_prompt_and_comes_back_with_undo(desk: Desk) -> None:
    _turns(desk, 2)
    _view(desk, 1).actions_row.delete_requested.emit()
    settle()
    assert desk.shown() == ["Question 0", "Question 1", "Answer 1"]
    assert desk.engine.newest.questions[-1].messages[0].content == "Question 0\n\nQuestion 1"
    desk.weir.window.banner.action.click()
    settle()
    assert desk.shown() == ["Question 0", "Answer 0", "Question 1", "Answer 1"]


def test_deleted_chat_comes_back_with_undo(desk: Desk) -> None:
    _turns(desk, 1)
    chat_id = desk.controller.open_chat_id
    assert chat_id is not None
    desk.chats.list.delete(chat_id)
    settle()
    assert desk.shown() == []
    assert desk.store.list_chats() == []
    desk.weir.window.banner.action.click()
    settle()
    assert desk.controller.open_chat_id == chat_id
    assert desk.shown() == ["Question 0", "Answer 0"]


def test_deletions_are_undone_one_after_the_other(desk: Desk) -> None:
    chats = []
    for number in range(2):
        desk.controller.open(None)
        desk.send(f"Chat {number}")
        desk.say(desk.engine.newest.finish, "Yes")
        chats.append(desk.controller.open_chat_id)
    for chat_id in chats:
        desk.chats.list.delete(chat_id or "")
    for left in (1, 2):
        desk.weir.window.banner.action.click()
        settle()
        assert len(desk.store.list_chats()) == left
    assert desk.controller.open_chat_id == chats[0]
    assert desk.weir.window.banner.shown() is None


def test_edit_that_is_too_long_comes_back_as_an_edit_and_the_chat_as_it_was(desk: Desk) -> None:
    _turns(desk, 2)
    _click(desk, 0, "edit")
    desk.send("Far too long")
    desk.say(desk.engine.newest.fail, "The message has 9,000 tokens.")
    assert desk.shown() == ["Question 0", "Answer 0", "Question 1", "Answer 1"]
    assert desk.weir.window.composer.text() == "Far too long"
    assert desk.weir.window.composer.editing.text().startswith("Editing message 1")
    desk.send("Short")
    assert desk.shown() == ["Short", ""]


def test_pin_is_stored_and_sent(desk: Desk) -> None:
    _turns(desk, 2)
    _click(desk, 0, "pin")
    assert desk.engine.newest.questions[-1].messages[0].pinned
    assert _view(desk, 0).mark.text() == "pinned"
    assert _view(desk, 0).actions_row.pin.text() == "Unpin"
    desk.send("Question 2")
    assert [message.pinned for message in desk.engine.newest.requests[-1].messages] == [True] + [False] * 4
    desk.say(desk.engine.newest.finish, "Answer 2")
    _click(desk, 0, "pin")
    assert not any(message.pinned for message in desk.store.messages(desk.controller.open_chat_id or ""))


def test_pin_that_does_not_fit_is_told_and_undone(desk: Desk) -> None:
    _turns(desk, 2)
    desk.engine.newest.answers = False
    _click(desk, 0, "pin")
    desk.say(lambda: desk.engine.newest.see(0, refused_pins=(0,)))
    assert "pins may take half of the context" in desk.notices[-1].message
    assert not desk.weir.transcript.message_at(0).pinned
    assert not desk.store.messages(desk.controller.open_chat_id or "")[0].pinned
    assert not desk.engine.newest.questions[-1].messages[0].pinned


def test_pin_made_while_a_reply_is_written_is_asked_about_afterwards(desk: Desk) -> None:
    _turns(desk, 1)
    desk.send("Question 1")
    desk.say(desk.engine.newest.see, 0)
    _click(desk, 0, "pin")
    assert not any(message.pinned for q in desk.engine.newest.questions for message in q.messages)
    desk.say(desk.engine.newest.see, 0)
    desk.engine.newest.answers = False
    desk.say(desk.engine.newest.finish, "Answer 1")
    assert desk.engine.newest.questions[-1].messages[0].pinned
    desk.say(lambda: desk.engine.newest.see(0, refused_pins=(0,)))
    assert not desk.weir.transcript.message_at(0).pinned


def test_old_pin_that_a_smaller_context_refuses_is_told_once_and_kept(desk: Desk) -> None:
    _turns(desk, 2)
    _click(desk, 0, "pin")
    desk.engine.newest.answers = False
    desk.send("Question 2")
    n_told = len(desk.notices)
    for _ in range(2):
        desk.say(lambda: desk.engine.newest.see(2, refused_pins=(0,)))
    assert len(desk.notices) == n_told + 1
    assert "They stay pinned" in desk.weir.window.banner.text.text()
    assert desk.weir.transcript.message_at(0).pinned
    assert _view(desk, 0).mark.text() == "pinned, does not fit"


@pytest.mark.parametrize("name", ["pin", "edit", "copy"])
def test_actions_can_be_reached_by_keyboard(desk: Desk, name: str) -> None:
    _turns(desk, 1)
    desk.weir.window.activateWindow()
    body = _view(desk, 0).body
    body.setFocus()
    for _ in range(8):
        focused = desk.weir.window.focusWidget()
        assert focused is not None
        QTest.keyClick(focused, Qt.Key.Key_Tab)
        if desk.weir.window.focusWidget() is getattr(_view(desk, 0).actions_row, name):
            return
    pytest.fail(f"Tab does not reach {name}")


def test_context_menu_offers_the_same_actions(desk: Desk) -> None:
    _turns(desk, 1)
    view = _view(desk, 1)
    menu = view.body_menu(QPoint(0, 0))
    names = [action.text() for action in menu.actions()]
    assert "Write this reply again, as another version" in names
    assert any("Pin this message" in name for name in names)
    next(action for action in menu.actions() if "again" in action.text()).trigger()
    assert desk.shown() == ["Question 0", ""]
