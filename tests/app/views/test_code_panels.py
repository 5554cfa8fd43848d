"""Code in messages: its panel, its colours, its button."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QTextLayout
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.views.code_colours import DARK_CODE, LIGHT_CODE
from app.views.code_highlighting import highlight
from app.views.markdown_places import MAX_HIGHLIGHTED
from app.views.markdown_typesetting import HighlightTask
from app.views.message_body import MessageBody
from app.views.tokens import DARK, LIGHT, Tokens, current_tokens
from tests.app.views.message_bodies import WIDTH, body_with

CODE = "def f(x):\n\treturn '😀', 1  # note\n\n\nprint(f)"


def _colours(body: MessageBody, text: str) -> list[tuple[int, int, str]]:
    """The coloured stretches of the line that begins with `text`."""
    layout = body.document().find(text).block().layout()
    return [_stretch(found) for found in layout.formats()]


def _stretch(found: QTextLayout.FormatRange) -> tuple[int, int, str]:
    return found.start, found.length, found.format.foreground().color().name()


@pytest.mark.parametrize(("colours", "tokens"), [(LIGHT_CODE, LIGHT), (DARK_CODE, DARK)])
def test_colours_of_code_can_be_read(colours: dict[str, str], tokens: Tokens) -> None:
    faint = {kind for kind, colour in colours.items() if _contrast(colour, tokens.code) < 4.5}
    assert faint == set()


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    shown = QColor(colour)
    return 0.2126 * _linear(shown.redF()) + 0.7152 * _linear(shown.greenF()) + 0.0722 * _linear(shown.blueF())


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def test_stretches_are_counted_as_qt_counts() -> None:
    result = highlight(HighlightTask(CODE, "python"))
    assert result is not None
    assert result.lines[0][:2] == ((0, 3, "keyword"), (4, 1, "name"))
    assert (14, 1, "number") in result.lines[1]
    assert (17, 6, "comment") in result.lines[1]
    assert result.lines[2:4] == ((), ())
    assert len(result.lines) == 5


@pytest.mark.parametrize(
    ("language", "code", "start"), [("cpp", "int a;  // one", 8), ("bash", "ls -l  # all", 7)]
)
def test_comment_at_the_end_of_the_last_line_is_a_comment(language: str, code: str, start: int) -> None:
    result = highlight(HighlightTask(code, language))
    assert result is not None
    assert len(result.lines) == 1
    assert result.lines[0][-1] == (start, len(code) - start, "comment")


def test_language_that_nobody_knows_stays_plain() -> None:
    assert highlight(HighlightTask("x = 1", "klingon")) is None


def test_code_is_coloured_by_its_language(qtbot: QtBot) -> None:
    body = body_with(qtbot, f"```python\n{CODE}\n```\n\n```\ndef plain\n```\n\n```klingon\ndef other\n```")
    keyword = (LIGHT_CODE if current_tokens() == LIGHT else DARK_CODE)["keyword"]
    qtbot.waitUntil(lambda: (0, 3, keyword) in _colours(body, "def f"), timeout=30_000)
    assert _colours(body, "def plain") == _colours(body, "def other") == []


def test_code_that_grows_keeps_its_colours_and_gets_new_ones(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.views.message_body._MIN_PAUSE", 0.0)
    monkeypatch.setattr("app.views.message_body._PAUSE_FACTOR", 0.0)
    body = body_with(qtbot, "```python\ndef one(): pass\n")
    qtbot.waitUntil(lambda: len(_colours(body, "def one")) > 1, timeout=30_000)
    body.show_text("```python\ndef one(): pass\ndef two(): pass", markdown=True, streaming=True)
    assert len(_colours(body, "def one")) > 1
    qtbot.waitUntil(lambda: len(_colours(body, "def two")) > 1, timeout=30_000)


def test_very_long_code_is_shown_plain(qtbot: QtBot) -> None:
    body = body_with(qtbot, "```python\n" + "def f(): pass\n" * (MAX_HIGHLIGHTED // 10) + "```\n")
    qtbot.wait(300)
    assert _colours(body, "def f") == []


def test_panel_stands_on_its_ground_and_is_left_to_right(qtbot: QtBot) -> None:
    body = body_with(qtbot, "سلام\n\n```python\nشلام = 1\n```\n\nend")
    block = body.document().find("= 1").block()
    assert block.textDirection() == Qt.LayoutDirection.LeftToRight
    middle = body.document().documentLayout().blockBoundingRect(block).center().toPoint()
    assert body.grab().toImage().pixelColor(WIDTH - 4, middle.y()).name() == current_tokens().code


def test_button_copies_exactly_the_code(qtbot: QtBot) -> None:
    body = body_with(qtbot, f"```python\n{CODE}\n```\n\n> ```\n> a  \n> \tb\n> ```\n")
    first, second = body.code_buttons()
    assert (first.accessibleName(), second.accessibleName()) == (
        "Copy code, python, 5 lines",
        "Copy code, 2 lines",
    )
    first.click()
    assert QGuiApplication.clipboard().text() == CODE
    assert first.text() == "Copied"
    second.setFocus()
    QTest.keyClick(second, Qt.Key.Key_Space)
    assert QGuiApplication.clipboard().text() == "a  \n\tb"


def test_buttons_come_and_go_with_their_panels(qtbot: QtBot) -> None:
    body = body_with(qtbot, "```\na\n```\n\n```\nb\n```\n")
    kept = body.code_buttons()[0]
    assert kept.geometry().bottom() < body.code_buttons()[1].geometry().top()
    body.show_text("```\na\n```\n", markdown=True, streaming=False)
    body.fit(WIDTH)
    assert body.code_buttons() == [kept]
    body.show_text("plain", markdown=False, streaming=False)
    body.fit(WIDTH)
    assert body.code_buttons() == []
