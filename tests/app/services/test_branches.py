"""Editing, writing again, pinning; and that nothing is lost by it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.services.notice import NoticeAction
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


def test_undo_brings_back_what_an_edit_replaced(desk: Desk) -> None:
    _turns(desk, 2)
    _click(desk, 0, "edit")
    desk.send("Another beginning")
    desk.say(desk.engine.newest.finish, "Another answer")
    banner = desk.weir.window.banner
    assert banner.text.text() == "Message 1 was replaced, and the 3 messages after it were put aside."
    assert banner.action.text() == "Undo"
    banner.action.click()
    settle()
    assert desk.shown() == ["Question 0", "Answer 0", "Question 1", "Answer 1"]
    desk.send("On")
    assert _asked(desk) == ["Question 0", "Answer 0", "Question 1", "Answer 1", "On"]


def test_undo_while_the_new_reply_is_written_stops_it_first(desk: Desk) -> None:
    _turns(desk, 1)
    _click(desk, 1, "again")
    desk.say(desk.engine.newest.write, "Oth")
    desk.weir.window.banner.action.click()
    assert isinstance(desk.engine.newest.sent[-1], Cancel)
    assert desk.shown() == ["Question 0", "Oth"]
    desk.say(desk.engine.newest.finish, "Oth", FinishReason.CANCELLED)
    assert desk.shown() == ["Question 0", "Answer 0"]
    assert not desk.controller.running


def test_undo_is_over_when_the_chat_went_on(desk: Desk) -> None:
    _turns(desk, 1)
    _click(desk, 1, "again")
    desk.say(desk.engine.newest.finish, "Other answer")
    _turns(desk, 1)
    assert desk.weir.window.banner.isHidden()
    desk.controller.undo()
    assert desk.shown() == ["Question 0", "Other answer", "Question 0", "Answer 0"]


def test_again_writes_the_last_reply_anew_and_keeps_the_old_one(desk: Desk) -> None:
    _turns(desk, 2)
    assert _view(desk, 1).actions_row.again.isHidden()
    _click(desk, 3, "again")
    assert desk.shown() == ["Question 0", "Answer 0", "Question 1", ""]
    assert _asked(desk) == ["Question 0", "Answer 0", "Question 1"]
    assert _view(desk, 3).actions_row.again.isHidden()
    desk.say(desk.engine.newest.finish, "Other answer")
    assert desk.shown()[-1] == "Other answer"
    assert desk.weir.window.banner.shown().action is NoticeAction.UNDO  # type: ignore[union-attr]
    desk.weir.window.banner.action.click()
    settle()
    assert desk.shown()[-1] == "Answer 1"


def test_reply_that_cannot_be_written_again_comes_back(desk: Desk) -> None:
    _turns(desk, 1)
    _click(desk, 1, "again")
    desk.say(desk.engine.newest.fail, "The template is broken.")
    assert desk.shown() == ["Question 0", "Answer 0"]
    assert desk.stored() == [("Question 0", "complete"), ("Answer 0", "complete")]
    assert desk.weir.window.composer.text() == ""


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
    for _ in range(4):
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
    assert "Write this reply again" in names
    assert any("Pin this message" in name for name in names)
    next(action for action in menu.actions() if "again" in action.text()).trigger()
    assert desk.shown() == ["Question 0", ""]
