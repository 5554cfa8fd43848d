"""What fits the letters that were typed, and in which order."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.data.stored_message import ChatSummary
from app.item_models.fuzzy_match import fold, score
from app.item_models.palette_item_model import N_CHATS_AT_FIRST, PaletteCommand, PaletteItemModel

_FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
COMMANDS = [
    PaletteCommand("new", "New chat", "Ctrl+N"),
    PaletteCommand("export", "Export all chats", keywords=("save", "backup")),
    PaletteCommand("settings", "Settings", "Ctrl+,", group="Window"),
    PaletteCommand("again", "Write the reply again", unavailable_because="There is no reply yet"),
]


def _best_first(query: str, *names: str) -> list[str]:
    scored = [(score(fold(query), fold(name)), name) for name in names]
    fitting = [(fit, name) for fit, name in scored if fit is not None]
    return [name for _, name in sorted(fitting, key=lambda pair: -pair[0])]


def _shown(model: PaletteItemModel) -> list[str]:
    return [model.index(row).data() for row in range(model.rowCount())]


def test_beginning_beats_word_beats_inside_beats_scattered() -> None:
    names = ("sent by post", "Accredited", "Edit message", "Message edit", "Every odd thing it")
    assert _best_first("edit", *names) == ["Edit message", "Message edit", "Accredited", "Every odd thing it"]


def test_words_fit_in_any_order() -> None:
    assert _best_first("chat new", "New chat", "New model") == ["New chat"]


def test_shorter_name_is_the_better_one() -> None:
    assert _best_first("set", "Settings of this chat", "Settings") == ["Settings", "Settings of this chat"]


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("CAFE", "Café au lait"),
        ("éte", "Ete"),
        ("strasse", "Straße"),
        ("سفر", "برنامه سفر"),
        ("日本", "東京と日本"),
    ],
)
def test_case_and_accents_do_not_matter_in_any_script(typed: str, name: str) -> None:
    assert _best_first(typed, name) == [name]


def test_letters_must_begin_at_a_word_to_fit_scattered() -> None:
    assert _best_first("nc", "Bounce", "New chat", "No rice", "Spinach") == ["New chat", "Bounce", "No rice"]
    assert _best_first("nwt", "New chat", "Answer it") == ["New chat"]


def test_nothing_typed_offers_commands_and_the_newest_chats(qtbot: QtBot) -> None:
    model = PaletteItemModel()
    tester = QAbstractItemModelTester(model, _FATAL)
    model.set_offers(COMMANDS, [ChatSummary(str(n), f"Chat {n}", 0.0, 0.0) for n in range(50)])
    assert _shown(model)[: len(COMMANDS)] == [command.title for command in COMMANDS]
    assert model.rowCount() == len(COMMANDS) + N_CHATS_AT_FIRST
    model.find("chat 4")
    assert _shown(model)[0] == "Chat 4"
    model.find("nothing like this")
    assert model.rowCount() == 0
    assert tester.model() is model


def test_keywords_find_a_command_below_those_of_that_name(qtbot: QtBot) -> None:
    model = PaletteItemModel()
    model.set_offers([*COMMANDS, PaletteCommand("b", "Backup now")], [])
    model.find("backup")
    assert _shown(model) == ["Backup now", "Export all chats"]


def test_commands_stand_above_chats_that_fit_alike(qtbot: QtBot) -> None:
    model = PaletteItemModel()
    model.set_offers(COMMANDS, [ChatSummary("1", "Settings", 0.0, 0.0), ChatSummary("2", "", 0.0, 0.0)])
    model.find("settings")
    assert [type(model.offer_at(row)) for row in range(2)] == [PaletteCommand, ChatSummary]


def test_row_says_all_of_it_to_a_screen_reader(qtbot: QtBot) -> None:
    model = PaletteItemModel()
    model.set_offers(COMMANDS, [ChatSummary("1", "Trip", 0.0, 0.0)])
    said = [model.index(row).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(model.rowCount())]
    assert said[2:] == [
        "Settings, Window, Ctrl+,",
        "Write the reply again, There is no reply yet",
        "Trip, chat",
    ]
