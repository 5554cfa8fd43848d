"""How all of the window is dressed: sizes and directions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.views.leading_label import LeadingLabel
from app.views.search_field import SearchField
from app.views.settings_controls import NumberBox
from app.views.theme import apply_direction, apply_theme
from app.views.tokens import DARK, LIGHT, Tokens
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


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_borders_of_fields_can_be_seen(tokens: Tokens) -> None:
    grounds = (tokens.window, tokens.surface, tokens.sidebar, tokens.raised)
    assert min(_contrast(tokens.field, ground) for ground in grounds) >= 3


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_a_number_field_has_such_a_border(qtbot: QtBot, application: QApplication, tokens: Tokens) -> None:
    apply_theme(application, "light" if tokens == LIGHT else "dark")
    box = NumberBox(0, 9)
    qtbot.addWidget(box)
    picture = box.grab().toImage()
    edge = picture.pixelColor(picture.width() // 2, 0).name()
    assert _contrast(edge, tokens.surface) >= 3


def _contrast(one: str, other: str) -> float:
    """As WCAG 2 has it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_search_field_begins_where_lines_do(qtbot: QtBot, application: QApplication) -> None:
    field = SearchField()
    qtbot.addWidget(field)
    field.show()
    apply_direction(application, "rtl")
    settle()
    assert field.alignment() & Qt.AlignmentFlag.AlignRight
    assert field.alignment() & Qt.AlignmentFlag.AlignAbsolute  # else Qt asks the keyboard
    apply_direction(application, "ltr")
    settle()
    assert field.alignment() & Qt.AlignmentFlag.AlignLeft


@pytest.mark.parametrize("choice", ["light", "dark"])
def test_an_empty_check_box_is_seen(qtbot: QtBot, application: QApplication, choice: str) -> None:
    apply_theme(application, choice)
    tokens = DARK if choice == "dark" else LIGHT
    page = QWidget()
    page.setObjectName("page")
    box = QCheckBox("", page)
    qtbot.addWidget(page)
    page.show()
    settle()
    box.clearFocus()
    image = box.grab().toImage()
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert tokens.field in colours
