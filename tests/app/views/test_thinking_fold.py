"""A thought folds into one line, counts while it lasts, and unfolds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.views.thinking_fold import ThinkingFold


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds that the fold sees."""
    now = [100.0]
    monkeypatch.setattr("app.views.thinking_fold.monotonic", lambda: now[0])
    return now


@pytest.fixture
def fold(qtbot: QtBot, clock: list[float]) -> Iterator[ThinkingFold]:
    place = QWidget()
    qtbot.addWidget(place)
    fold = ThinkingFold(place)
    place.show()
    yield fold


def test_nothing_is_shown_without_a_thought(fold: ThinkingFold) -> None:
    fold.show_thought(None, False, None)
    assert not fold.isVisible()
    fold.show_thought("x", False, 1000.0)
    assert fold.isVisible()
    fold.show_thought(None, False, None)
    assert not fold.isVisible()


def test_open_thought_counts_and_shows_its_last_line(
    qtbot: QtBot, fold: ThinkingFold, clock: list[float]
) -> None:
    fold.show_thought("First\nsecond line", True, None)
    assert fold.toggle.text().endswith("Thinking \N{HORIZONTAL ELLIPSIS} 0 s")
    clock[0] += 4.2
    fold.show_thought("First\nsecond line\nthird", True, None)
    assert fold.toggle.text().endswith("4 s")
    assert fold._last_line.text() == "third"
    assert fold.toggle.accessibleName() == "The model is thinking, folded"
    clock[0] += 8
    qtbot.waitUntil(lambda: fold.toggle.text().endswith("12 s"), timeout=3000)


@pytest.mark.parametrize(
    ("ms", "told"), [(12_300.0, "12 s"), (200.0, "1 s"), (125_000.0, "2 min 5 s"), (None, "7 s")]
)
def test_thought_that_ended_tells_its_time(
    fold: ThinkingFold, clock: list[float], ms: float | None, told: str
) -> None:
    fold.show_thought("x", True, None)
    clock[0] += 7
    fold.show_thought("x", False, ms)
    assert fold.toggle.text().endswith(f"Thought for {told}")
    assert fold.toggle.accessibleName() == f"Thought for {told}, folded"
    assert not fold._ticks.isActive()
    assert fold._last_line.text() == ""


def test_stored_thought_without_a_time_tells_none(fold: ThinkingFold) -> None:
    fold.show_thought("x", False, None)
    assert fold.toggle.text().endswith("Thought")


def test_thought_unfolds_by_keyboard_and_takes_its_height(qtbot: QtBot, fold: ThinkingFold) -> None:
    fold.show_thought("Line\n\n" * 10 + "```\ncode\n```", False, 1000.0)
    folded = fold.fit(400)
    assert fold.body.toPlainText() == ""
    assert fold.tab_stops() == [fold.toggle]
    fold.toggle.setFocus()
    with qtbot.waitSignal(fold.height_changed):
        QTest.keyClick(fold.toggle, Qt.Key.Key_Space)
    assert fold.fit(400) > folded + 100
    assert fold.body.toPlainText().count("Line") == 10
    assert fold.toggle.accessibleName() == "Thought for 1 s, unfolded"
    assert fold.tab_stops() == [fold.toggle, fold.body, *fold.body.code_buttons()]
    assert len(fold.tab_stops()) == 3
    fold.toggle.click()
    assert fold.fit(400) == folded


def test_unfolded_thought_grows_with_the_reply(qtbot: QtBot, fold: ThinkingFold) -> None:
    fold.show_thought("one", True, None)
    fold.toggle.click()
    fold.show_thought("one two", True, None)
    qtbot.waitUntil(lambda: fold.body.toPlainText() == "one two")
