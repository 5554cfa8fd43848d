"""How all of the window is dressed: sizes and directions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.views.leading_label import LeadingLabel
from app.views.theme import apply_direction, apply_theme
from tests.app.conftest import settle


@pytest.fixture
def application(qapp: QApplication) -> Iterator[QApplication]:
    yield qapp
    apply_theme(qapp, "light")
    apply_direction(qapp, "ltr")


def test_the_font_size_is_that_of_all_text_and_comes_back(qtbot: QtBot, application: QApplication) -> None:
    apply_theme(application, "light")
    plain, titled = QLabel("a"), QLabel("a")
    titled.setObjectName("emptyTitle")
    for label in (plain, titled):
        qtbot.addWidget(label)
        label.show()
    settle()
    before = [label.fontInfo().pixelSize() for label in (plain, titled)]
    size = application.font().pointSizeF()
    apply_theme(application, "light", font_size=round(size * 2))
    settle()
    after = [label.fontInfo().pixelSize() for label in (plain, titled)]
    assert after == pytest.approx([2 * pixels for pixels in before], abs=1)
    apply_theme(application, "light")
    settle()
    assert [label.fontInfo().pixelSize() for label in (plain, titled)] == before


def test_dressing_again_in_the_same_leaves_the_widgets_alone(qtbot: QtBot, application: QApplication) -> None:
    apply_theme(application, "light", font_size=12)
    events: list[int] = []

    class Label(QLabel):
        def changeEvent(self, event: object) -> None:
            events.append(1)

    label = Label()
    qtbot.addWidget(label)
    label.show()
    settle()
    events.clear()
    apply_theme(application, "light", font_size=12)
    settle()
    assert events == []


@pytest.mark.parametrize(
    ("choice", "direction"),
    [
        ("rtl", Qt.LayoutDirection.RightToLeft),
        ("ltr", Qt.LayoutDirection.LeftToRight),
        ("auto", QLocale.system().textDirection()),
    ],
)
def test_the_direction_is_the_chosen_one(
    application: QApplication, choice: str, direction: Qt.LayoutDirection
) -> None:
    apply_direction(application, choice)
    assert application.layoutDirection() is direction


def test_a_label_stands_where_lines_begin(qtbot: QtBot, application: QApplication) -> None:
    label = LeadingLabel("Latin text")
    qtbot.addWidget(label)
    label.show()
    assert label.alignment() & Qt.AlignmentFlag.AlignLeft
    apply_direction(application, "rtl")
    settle()
    assert label.alignment() & Qt.AlignmentFlag.AlignRight
    assert label.alignment() & Qt.AlignmentFlag.AlignAbsolute
