"""Cancelling in the page of downloads: asked where much would be lost, and never by a slip."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.views.downloads_page import ASKS_FROM_BYTES
from engine.download.download_values import DownloadStatus
from tests.app.conftest import settle
from tests.app.download_stage import state
from tests.app.downloads_page_stage import Stage, buttons_of

STATUS = DownloadStatus


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[Stage]:
    stage = Stage(qtbot)
    yield stage
    stage.service.close()


def test_cancelling_asks_where_much_would_be_lost(stage: Stage) -> None:
    (row,) = stage.show(state("m", done=ASKS_FROM_BYTES - 1))
    row.cancel.click()
    assert stage.queue.asked == [("pause", "org/m-GGUF/m.gguf")]
    row.toggle.click()
    (row,) = stage.show(state("m", done=1_250_000_000))
    row.cancel.click()
    assert stage.queue.asked == []
    assert "Cancel m? The 1.2 GB" in stage.page.question.text.text()
    assert stage.page.question.buttons[-1].hasFocus()
    QTest.keyClick(stage.page.question.buttons[-1], Qt.Key.Key_Escape)
    assert stage.queue.asked == []
    assert stage.page.question.isHidden()
    row.cancel.click()
    stage.page.question.buttons[0].click()
    assert stage.queue.asked == [("pause", "org/m-GGUF/m.gguf")]


def test_a_double_click_on_cancel_cancels_one_and_offers_it_back(stage: Stage) -> None:
    first, second = stage.show(state("a", done=5_000), state("b", done=5_000))
    before = first.cancel.mapTo(stage.window, first.cancel.rect().center())
    for _ in range(2):
        QTest.mouseClick(stage.window.windowHandle(), Qt.MouseButton.LeftButton, pos=before)
        settle()
    assert stage.queue.asked == [("pause", "org/a-GGUF/a.gguf")]
    assert first.cancel.mapTo(stage.window, first.cancel.rect().center()) == before
    assert not first.cancel.isEnabled()
    assert buttons_of(second) == {"Pause", "Cancel"}
    assert first.toggle.text() == "Undo"
    first.toggle.click()
    assert stage.queue.asked[-1] == ("resume", "org/a-GGUF/a.gguf")
    assert buttons_of(first) == {"Pause", "Cancel"}


def test_keys_find_undo_where_cancel_was_pressed(stage: Stage) -> None:
    (row,) = stage.show(state("a", done=5_000))
    row.cancel.setFocus()
    QTest.keyClick(row.cancel, Qt.Key.Key_Space)
    assert row.toggle.hasFocus()


def test_a_press_on_a_row_that_has_just_slid_in_does_nothing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.show(state("a", done=0), state("b", done=5_000))
    stage.page.list.rows[0].cancel.click()
    (row,) = stage.show(state("b", done=5_000))
    row.cancel.click()
    assert stage.queue.asked == []
    monkeypatch.setattr(stage.page.list, "_slid_at", 0.0)
    row.cancel.click()
    assert stage.queue.asked == [("pause", "org/b-GGUF/b.gguf")]
