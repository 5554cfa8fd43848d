"""Headings between the chats, which stay right while chats come, go and move."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable
from datetime import date, datetime, timedelta

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QListView
from pytestqt.qtbot import QtBot

from app.data.stored_message import ChatSummary
from app.item_models.chat_list_item_model import CHAT_ROLE, ChatListItemModel
from app.item_models.grouped_chats_item_model import GROUP_ROLE, GroupedChatsItemModel

_FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
NOON = datetime(2025, 3, 31, 12).timestamp()
DAY = 86400.0


class Calendar:
    """A day that a test can turn."""

    def __init__(self) -> None:
        self.day = date(2025, 3, 31)

    def __call__(self) -> date:
        return self.day


def _chat(name: str, n_days_ago: float = 0, *, pinned: bool = False) -> ChatSummary:
    return ChatSummary(name, f"Chat {name}", NOON, NOON - n_days_ago * DAY, pinned)


def _shown(model: GroupedChatsItemModel) -> list[str]:
    return [model.index(row).data() for row in range(model.rowCount())]


def _model(*chats: ChatSummary) -> tuple[ChatListItemModel, GroupedChatsItemModel, Calendar]:
    source, calendar = ChatListItemModel(), Calendar()
    source.set_chats(chats)
    return source, GroupedChatsItemModel(source, source, today=calendar), calendar


def test_headings_stand_above_their_chats(qtbot: QtBot) -> None:
    _, model, _ = _model(
        _chat("a"), _chat("b", 1), _chat("c", 5), _chat("d", 20), _chat("e", 60, pinned=True)
    )
    assert _shown(model) == [
        *("Pinned", "Chat e", "Today", "Chat a", "Yesterday", "Chat b"),
        *("Previous 7 days", "Chat c", "Previous 30 days", "Chat d"),
    ]


def test_older_chats_stand_under_month_and_year(qtbot: QtBot) -> None:
    _, model, _ = _model(_chat("a", 70), _chat("b", 400))
    assert [words.split()[-1] for words in _shown(model)[::2]] == ["2025", "2024"]


def test_rows_are_found_by_their_chats(qtbot: QtBot) -> None:
    _, model, _ = _model(_chat("a"), _chat("b", 1))
    assert [model.row_of(name) for name in ("a", "b", "none", None)] == [1, 3, None, None]
    assert [chat and chat.id for chat in map(model.chat_at, range(-1, 5))] == [
        None,
        None,
        "a",
        None,
        "b",
        None,
    ]
    assert model.chat_rows() == [1, 3]
    assert model.index(1).data(CHAT_ROLE).id == "a"
    assert model.index(0).data(GROUP_ROLE) is not None
    assert model.index(1).data(GROUP_ROLE) is None


def test_headings_cannot_be_chosen_and_say_what_they_are(qtbot: QtBot) -> None:
    _, model, _ = _model(_chat("a"), _chat("b"), _chat("c", 1))
    heading, chat = model.index(0), model.index(1)
    assert model.flags(heading) == Qt.ItemFlag.ItemNeverHasChildren
    assert model.flags(chat) & Qt.ItemFlag.ItemIsSelectable
    assert heading.data(Qt.ItemDataRole.AccessibleTextRole) == "Today, group of 2"
    assert chat.data(Qt.ItemDataRole.AccessibleDescriptionRole) == "Today"
    assert not model.setData(heading, "another name")


def test_edited_title_is_asked_for(qtbot: QtBot) -> None:
    source, model, _ = _model(_chat("a"))
    with qtbot.waitSignal(source.rename_requested, timeout=500) as asked:
        assert model.setData(model.index(1), "  new name ")
    assert asked.args == ["a", "new name"]


def test_heading_comes_and_goes_with_its_chats(qtbot: QtBot) -> None:
    source, model, _ = _model(_chat("a"), _chat("b", 1))
    source.put_first(_chat("b"))
    assert _shown(model) == ["Today", "Chat b", "Chat a"]
    source.remove("a")
    source.update_chat(_chat("b", pinned=True))
    assert _shown(model) == ["Pinned", "Chat b"]
    source.remove("b")
    assert _shown(model) == []


def test_midnight_moves_the_headings(qtbot: QtBot) -> None:
    _, model, calendar = _model(_chat("a"), _chat("b", 1))
    calendar.day += timedelta(days=1)
    model.look_at_calendar()
    assert _shown(model) == ["Yesterday", "Chat a", "Previous 7 days", "Chat b"]


def test_what_is_selected_stays_selected_while_it_moves(qtbot: QtBot) -> None:
    source, model, _ = _model(_chat("a"), _chat("b", 1), _chat("c", 5))
    view = QListView()
    qtbot.addWidget(view)
    view.setModel(model)
    row = model.row_of("c")
    assert row is not None
    view.setCurrentIndex(model.index(row))
    source.put_first(_chat("c", -0.1))
    assert view.currentIndex().data() == "Chat c"
    assert view.currentIndex().row() == 1
    source.set_chats([_chat("new"), *source.chats()])
    assert [index.data() for index in view.selectedIndexes()] == ["Chat c"]


def test_item_model_is_sound_through_all_changes(qtbot: QtBot) -> None:
    source, model, calendar = _model()
    tester = QAbstractItemModelTester(model, _FATAL)
    dice = random.Random(7)
    chats = [_chat(str(number), number / 3, pinned=number % 11 == 0) for number in range(200)]
    source.set_chats(chats)
    kept = [QPersistentModelIndex(model.index(row)) for row in model.chat_rows()]
    names = [index.data() for index in kept]
    for _ in range(80):
        chat = dice.choice(source.chats())
        dice.choice(
            (
                lambda chat=chat: source.put_first(
                    dataclasses.replace(chat, updated_at=NOON + dice.random())
                ),
                lambda chat=chat: source.update_chat(dataclasses.replace(chat, pinned=not chat.pinned)),
                lambda: source.set_chats(dice.sample(chats, 150)),
                lambda chat=chat: source.remove(chat.id),
                lambda: setattr(calendar, "day", calendar.day + timedelta(days=dice.randint(-9, 9))),
            )
        )()
        model.look_at_calendar()
        shown = [model.chat_at(row) for row in model.chat_rows()]
        assert {chat.id for chat in shown if chat} == {chat.id for chat in source.chats()}
    still = [(index.data(), name) for index, name in zip(kept, names, strict=True) if index.isValid()]
    assert all(now == then for now, then in still)
    assert tester.model() is model


def test_five_thousand_chats_are_quick(qtbot: QtBot) -> None:
    source, model, _ = _model()
    view = QListView()
    qtbot.addWidget(view)
    view.setUniformItemSizes(True)
    view.setModel(model)
    chats = [_chat(str(number), number / 10) for number in range(5000)]
    changes: tuple[Callable[[], None], ...] = (
        lambda: source.set_chats(chats),
        lambda: source.put_first(dataclasses.replace(chats[4000], updated_at=NOON + 1)),
        lambda: source.update_chat(dataclasses.replace(chats[2000], pinned=True)),
        lambda: source.remove("17"),
    )
    for change in changes:
        before = time.perf_counter()
        change()
        assert time.perf_counter() - before < 0.25
    assert model.index(0, 0, QModelIndex()).data() == "Pinned"
