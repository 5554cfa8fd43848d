"""What the model remembers of chats on disk: switched, limited and cleared on the settings' page."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.data.settings import Settings, SettingsStore
from app.services.preferences import Preferences
from app.views.settings_controls import ChoiceBox, NumberBox
from app.views.settings_form import SettingsForm
from app.views.settings_page import SettingsPage
from app.views.settings_saved_kv import SavedKVGroup
from tests.app.conftest import settle

GIB = 2**30


@pytest.fixture
def preferences(qapp: QApplication, tmp_path: Path) -> Preferences:
    return Preferences(SettingsStore(tmp_path / "settings.json"), Settings())


@pytest.fixture
def host(qtbot: QtBot) -> QWidget:
    """The window, without any wish for a size."""
    host = QWidget()
    qtbot.addWidget(host)
    return host


@pytest.fixture
def page(host: QWidget, preferences: Preferences, tmp_path: Path) -> SettingsPage:
    page = SettingsPage(preferences, tmp_path, host)
    host.resize(1200, 600)
    page.resize(680, 520)
    host.show()
    host.activateWindow()
    settle()
    return page


@pytest.fixture
def group(page: SettingsPage) -> SavedKVGroup:
    assert page.form.saved_kv is not None
    return page.form.saved_kv


def budget(group: SavedKVGroup) -> NumberBox:
    box = group.rows["saved_kv_budget"].control
    assert isinstance(box, NumberBox)
    return box


def type_budget(group: SavedKVGroup, text: str) -> None:
    box = budget(group)
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(box, text)
    QTest.keyClick(box, Qt.Key.Key_Return)


def test_four_gib_are_kept_unless_something_else_is_chosen(group: SavedKVGroup) -> None:
    assert budget(group).text() == "4.00"
    switch = group.rows["saved_kv"].control
    assert isinstance(switch, ChoiceBox)
    assert switch.currentText() == "yes"
    assert not any(row.undo.isVisible() for row in group.rows.values())


def test_the_budget_is_chosen_in_gib_and_kept_in_bytes(
    group: SavedKVGroup, preferences: Preferences, tmp_path: Path
) -> None:
    type_budget(group, "1.5")
    assert preferences.settings.saved_kv_budget == GIB * 3 // 2
    assert SettingsStore(tmp_path / "settings.json").load()[0].saved_kv_budget == GIB * 3 // 2
    assert budget(group).text() == "1.50"
    group.rows["saved_kv_budget"].undo.click()
    assert preferences.settings == Settings()
    assert budget(group).text() == "4.00"


def test_a_budget_that_keeps_hardly_a_chat_becomes_the_smallest_one(
    group: SavedKVGroup, preferences: Preferences
) -> None:
    type_budget(group, "0.01")
    assert preferences.settings.saved_kv_budget == GIB // 4


def test_a_budget_written_into_the_file_by_hand_is_shown_and_left(
    group: SavedKVGroup, preferences: Preferences
) -> None:
    preferences.update(saved_kv_budget=300_000_001)
    assert budget(group).text() == "0.28"
    assert preferences.settings.saved_kv_budget == 300_000_001


def test_it_can_be_switched_off_with_the_keyboard(group: SavedKVGroup, preferences: Preferences) -> None:
    switch = group.rows["saved_kv"].control
    switch.setFocus()
    QTest.keyClick(switch, Qt.Key.Key_Down)
    assert not preferences.settings.saved_kv
    assert "nothing is kept" in group.rows["saved_kv"].remark.text()
    group.rows["saved_kv"].undo.click()
    assert preferences.settings.saved_kv


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [
        (0, "Nothing is kept now."),
        (80 * 2**20, "80 MiB are kept now."),
        (5 * GIB, "5.0 GiB are kept now."),
    ],
)
def test_what_is_kept_is_shown(page: SettingsPage, group: SavedKVGroup, n_bytes: int, words: str) -> None:
    assert group.kept.text() == ""
    page.show_saved(n_bytes)
    assert group.kept.text() == words


def test_clearing_is_a_wish_and_shown_until_it_is_done(page: SettingsPage, group: SavedKVGroup) -> None:
    asked: list[bool] = []
    page.clear_saved_requested.connect(lambda: asked.append(True))
    page.show_saved(5 * GIB)
    group.clear.setFocus()
    QTest.keyClick(group.clear, Qt.Key.Key_Space)
    assert asked == [True]
    assert group.kept.text() == "Clearing \N{HORIZONTAL ELLIPSIS}"
    page.show_saved(0)
    assert group.kept.text() == "Nothing is kept now."
    assert group.clear.hasFocus()


def test_all_of_it_is_named_and_explained(group: SavedKVGroup) -> None:
    assert "texts of your chats" in group.note.text()
    assert "slower" in group.clear.toolTip()
    assert group.clear.accessibleName() == "Clear what the model remembers of chats"
    assert all(row.control.accessibleDescription() for row in group.rows.values())


def test_a_chat_has_no_say_in_it(qtbot: QtBot) -> None:
    form = SettingsForm(for_chat=True)
    qtbot.addWidget(form)
    assert form.saved_kv is None
