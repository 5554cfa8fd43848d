"""Numbers, choices and prompts: only what is valid comes out, and only what the user chose."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.views.settings_controls import ChoiceBox, NumberBox
from app.views.settings_prompt import LONGEST_PROMPT, PromptEdit


def _type(widget: QWidget, text: str) -> None:
    """Keys of any script, which QTest cannot press."""
    for character in text:
        event = QKeyEvent(QEvent.Type.KeyPress, 0, Qt.KeyboardModifier.NoModifier, character)
        QApplication.sendEvent(widget, event)


def _enter(box: NumberBox, text: str) -> list[object]:
    chosen: list[object] = []
    box.chosen.connect(chosen.append)
    box.lineEdit().clear()
    _type(box, text)
    box.interpretText()
    box.chosen.disconnect(chosen.append)
    return chosen


@pytest.mark.parametrize(
    ("typed", "chosen", "shown"),
    [
        ("4096", [4096], "4,096"),
        ("8,192", [8192], "8,192"),
        ("\u06f4\u06f0\u06f9\u06f6", [4096], "4,096"),
        ("511", [512], "512"),
        ("3", [512], "512"),
        ("99999", [10_000], "10,000"),
        ("12.5", [512], "512"),
        ("-700", [700], "700"),
        ("", [None], "automatic"),
        ("many", [None], "automatic"),
    ],
)
def test_whole_numbers_in_range_come_out(qtbot: QtBot, typed: str, chosen: list[object], shown: str) -> None:
    box = NumberBox(512, 10_000, below="automatic")
    qtbot.addWidget(box)
    box.show_value(1000)
    assert _enter(box, typed) == chosen
    assert box.text() == shown


def test_a_limit_holds_for_what_is_shown_and_goes_again(qtbot: QtBot) -> None:
    box = NumberBox(512, 10_000, below="automatic")
    qtbot.addWidget(box)
    chosen: list[object] = []
    box.chosen.connect(chosen.append)
    box.show_value(9000)
    box.limit(4096)
    assert box.text() == "4,096"
    box.limit(None)
    assert box.text() == "9,000"
    box.show_value(None)
    box.limit(2048)
    assert box.text() == "automatic"
    assert chosen == []  # nobody chose anything


def test_numbers_begin_on_the_right_in_a_window_from_right_to_left(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    box = NumberBox(0, 9)
    box.setParent(window)
    assert box.alignment() & Qt.AlignmentFlag.AlignLeft
    window.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    assert box.alignment() & Qt.AlignmentFlag.AlignRight


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [("0.25", [0.25]), ("0,3", [0.3]), ("\u0660\u066b\u0665", [0.5]), ("7", []), ("", []), (".", [])],
)
def test_decimals_are_taken_with_a_comma_too(qtbot: QtBot, typed: str, chosen: list[object]) -> None:
    box = NumberBox(0, 1, decimals=2)
    qtbot.addWidget(box)
    box.show_value(0.8)
    assert _enter(box, typed) == chosen


def test_the_largest_seed_fits(qtbot: QtBot) -> None:
    box = NumberBox(0, 2**32 - 1, below="random")
    qtbot.addWidget(box)
    assert _enter(box, "4294967295") == [2**32 - 1]
    assert _enter(box, "0") == [0]


def test_the_text_below_stands_for_its_value(qtbot: QtBot) -> None:
    box = NumberBox(1, 100, below="off", unset=0)
    qtbot.addWidget(box)
    box.show_value(0)
    assert box.text() == "off"
    box.show_value(5)
    assert _enter(box, "0") == [0]


def test_arrows_go_from_one_power_of_two_to_the_next(qtbot: QtBot) -> None:
    box = NumberBox(512, 5000, below="automatic", doubling=True)
    qtbot.addWidget(box)
    box.show_value(None)
    chosen: list[object] = []
    box.chosen.connect(chosen.append)
    for steps in (1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1):
        box.stepBy(steps)
    assert chosen == [512, 1024, 2048, 4096, 5000, 4096, 2048, 1024, 512, None]


def test_showing_is_not_choosing_and_leaves_what_is_being_typed(qtbot: QtBot) -> None:
    box = NumberBox(1, 10_000)
    qtbot.addWidget(box)
    chosen: list[object] = []
    box.chosen.connect(chosen.append)
    box.show_value(5)
    box.lineEdit().clear()
    _type(box, "12")
    box.show_value(5)  # something else has changed meanwhile
    assert box.text() == "12"
    assert chosen == []


def test_a_finer_value_than_is_shown_is_not_rounded_by_a_visit(qtbot: QtBot) -> None:
    box = NumberBox(0, 1, decimals=2)
    qtbot.addWidget(box)
    chosen: list[object] = []
    box.chosen.connect(chosen.append)
    box.show_value(0.123456)
    box.interpretText()
    assert chosen == []


@pytest.mark.parametrize("make", [lambda: NumberBox(0, 9), lambda: ChoiceBox([("a", 1), ("b", 2)])])
def test_the_wheel_passes_over_a_control_without_focus(
    qtbot: QtBot, make: Callable[[], NumberBox | ChoiceBox]
) -> None:
    box = make()
    qtbot.addWidget(box)
    box.show_value(1)
    chosen: list[object] = []
    box.chosen.connect(chosen.append)
    none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
    wheel = QWheelEvent(QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, -120), *none, False)
    box.wheelEvent(wheel)
    assert chosen == []
    assert not wheel.isAccepted()


def test_what_is_written_counts_once_the_typing_rests(qtbot: QtBot) -> None:
    edit = PromptEdit()
    qtbot.addWidget(edit)
    edit.show_text("Be kind.")
    chosen: list[str] = []
    edit.chosen.connect(chosen.append)
    edit.insertPlainText("Hi ")
    assert chosen == []
    qtbot.waitUntil(lambda: chosen == ["Hi Be kind."], timeout=3000)


def test_what_is_written_counts_at_once_when_the_field_is_hidden(qtbot: QtBot) -> None:
    edit = PromptEdit()
    qtbot.addWidget(edit)
    edit.show()
    chosen: list[str] = []
    edit.chosen.connect(chosen.append)
    edit.insertPlainText("Hi")
    edit.hide()
    assert chosen == ["Hi"]


def test_a_prompt_that_is_only_looked_at_stays_as_it_is(qtbot: QtBot) -> None:
    edit = PromptEdit()
    qtbot.addWidget(edit)
    chosen: list[str] = []
    edit.chosen.connect(chosen.append)
    edit.show_text("10\u00a0km")  # the field gives it back with a plain space
    edit.show()
    edit.hide()
    assert chosen == []


def test_a_preset_that_took_the_place_of_a_text_can_be_undone(qtbot: QtBot) -> None:
    edit = PromptEdit()
    qtbot.addWidget(edit)
    edit.insertPlainText("My own words")
    edit.choose("Another text")
    edit.undo()
    assert edit.toPlainText() == "My own words"


def test_a_paste_that_is_too_long_is_refused(qtbot: QtBot) -> None:
    edit = PromptEdit()
    qtbot.addWidget(edit)
    refused: list[bool] = []
    edit.refused.connect(refused.append)
    for text in ("x" * 1_000_000, "x" * LONGEST_PROMPT, "x" * 100):
        data = QMimeData()
        data.setText(text)
        edit.insertFromMimeData(data)
    assert refused == [True, True, False]
    assert edit.toPlainText() == "x" * 100
