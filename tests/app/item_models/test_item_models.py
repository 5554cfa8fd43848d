"""The item models keep Qt's promises while they change."""

from __future__ import annotations

import dataclasses

from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.data.stored_message import ChatSummary, MessageState, StoredMessage
from app.item_models.chat_list_item_model import CHAT_ROLE, ChatListItemModel
from app.item_models.transcript_item_model import MESSAGE_ROLE, TranscriptItemModel
from engine.protocol import Role

_FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


def _chat(name: str, title: str = "") -> ChatSummary:
    return ChatSummary(name, title or name, 0.0, 0.0)


def _message(number: int, text: str = "") -> StoredMessage:
    return StoredMessage(number, "chat", Role.ASSISTANT, text, MessageState.STREAMING, 0.0)


def test_chat_list_keeps_its_order_through_all_changes(qtbot: QtBot) -> None:
    chats = ChatListItemModel()
    tester = QAbstractItemModelTester(chats, _FATAL)
    chats.set_chats([_chat("a"), _chat("b"), _chat("c")])
    chats.put_first(_chat("c", "new title"))
    chats.put_first(_chat("d"))
    chats.remove("a")
    chats.remove("unknown")
    assert [chats.index(row).data() for row in range(chats.rowCount())] == ["d", "new title", "b"]
    assert chats.index(1).data(CHAT_ROLE).id == "c"
    assert tester.model() is chats


def test_blank_title_is_not_asked_for(qtbot: QtBot) -> None:
    chats = ChatListItemModel()
    chats.set_chats([_chat("a")])
    with qtbot.assertNotEmitted(chats.rename_requested):
        assert not chats.setData(chats.index(0), "  \n")


def test_growing_message_changes_its_own_row_only(qtbot: QtBot) -> None:
    transcript = TranscriptItemModel()
    tester = QAbstractItemModelTester(transcript, _FATAL)
    transcript.set_messages([_message(1), _message(2)])
    transcript.append(_message(3))
    rows: list[tuple[int, int]] = []
    transcript.dataChanged.connect(lambda first, last: rows.append((first.row(), last.row())))
    transcript.update_message(dataclasses.replace(_message(2), content="more"))
    transcript.update_message(_message(99, "of another chat"))
    assert rows == [(1, 1)]
    assert transcript.index(1).data(MESSAGE_ROLE).content == "more"
    transcript.remove(1)
    assert [transcript.message_at(row).id for row in range(transcript.rowCount())] == [2, 3]
    assert tester.model() is transcript
