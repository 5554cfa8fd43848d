"""Formulas: which text is one, how it is set, and what happens to those that cannot be."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QTextCursor
from pytestqt.qtbot import QtBot

from app.views.markdown_math import MAX_FORMULA
from app.views.markdown_parsing import parse
from app.views.markdown_typesetter import Typesetter, typesetter
from app.views.markdown_typesetting import FormulaDrawing, FormulaTask
from app.views.math_typesetting import set_formula
from app.views.message_body import MessageBody
from tests.app.conftest import settle
from tests.app.views.message_bodies import WIDTH, body_with, html_of

# ziamath asks for its font in an old way, when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore:path is deprecated")

OBJECT = "\N{OBJECT REPLACEMENT CHARACTER}"


def _formulas(text: str) -> list[tuple[str, bool]]:
    """Each formula in `text`, and whether it is set apart."""
    found = []
    for token in parse(text, {}):
        for part in (token, *(token.children or ())):
            if part.type.startswith("math"):
                found.append((part.content, part.type != "math_inline"))
    return found


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("$x$, $x^2$-y and \\(a_1\\)", [("x", False), ("x^2", False), ("a_1", False)]),
        ("$$x$$", [("x", True)]),
        ("$$\nx\n= 1\n$$", [("x\n= 1", True)]),
        ("Text:\n\\[ x \\]\nmore", [("x", True)]),
        ("in a line \\[ x \\] too", [("x", True)]),
        ("- item\n  $$\n  x\n  $$", [("x", True)]),
        ("> $$\n> x\n> $$", [("x", True)]),
        ("\\begin{align}\na &= b\n\\end{align}", [("\\begin{align}\na &= b\n\\end{align}", True)]),
        ("it costs $5 and $6", []),
        ("from $5 to $10, $20-$30, 5$ or 6$", []),
        ("between 100$ and US$200 (or $5)", []),
        ("$HOME and $PATH", []),
        ("`$x$` and \\$x\\$", []),
        ("```\n$x$\n```", []),
        ("$$\n\nx\n\n$$ y", []),
        ("a lone $ and $$", []),
    ],
)
def test_what_is_a_formula(text: str, formulas: list[tuple[str, bool]]) -> None:
    assert _formulas(text) == formulas


def _wait_for_formulas(qtbot: QtBot, body: MessageBody, count: int) -> None:
    qtbot.waitUntil(lambda: body.toPlainText().count(OBJECT) == count, timeout=30_000)


def test_formula_replaces_its_source_and_is_copied_as_it(qtbot: QtBot) -> None:
    text = "The area $\\pi r^2$ is\n\n$$\n\\int_0^r 2 \\pi x\\,dx\n$$\n\nand $y$."
    body = body_with(qtbot, text)
    if OBJECT not in body.toPlainText():
        assert "$\\pi r^2$" in body.toPlainText()
    _wait_for_formulas(qtbot, body, 3)
    assert body.toPlainText().startswith(f"The area {OBJECT} is\n{OBJECT}\nand {OBJECT}.")
    body.selectAll()
    copied = body.createMimeDataFromSelection().text()
    assert copied == "The area $\\pi r^2$ is\n$$\n\\int_0^r 2 \\pi x\\,dx\n$$\nand $y$."
    assert html_of(body) == html_of(body_with(qtbot, text))  # which has them at once


def test_formula_that_comes_while_the_reply_grows_stays_in_its_place(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.views.message_body._MIN_PAUSE", 0.0)
    monkeypatch.setattr("app.views.message_body._PAUSE_FACTOR", 0.0)
    text = "Now $a_{17}+b$ first.\n\n```python\nx = 1\n```\n\n- item $c_{18}$\n- next\n\nThe end $d_{19}$."
    live = body_with(qtbot, "")
    for end in range(1, len(text) - 20):
        live.show_text(text[:end], markdown=True, streaming=True)
    _wait_for_formulas(qtbot, live, 2)
    for end in range(len(text) - 20, len(text) + 1):
        live.show_text(text[:end], markdown=True, streaming=True)
    _wait_for_formulas(qtbot, live, 3)
    assert html_of(live) == html_of(body_with(qtbot, text))


def test_formula_stands_on_the_baseline(qtbot: QtBot) -> None:
    body = body_with(qtbot, "x $\\frac{a}{b}$ $x^2$ y")
    _wait_for_formulas(qtbot, body, 2)
    body.fit(WIDTH)
    line = body.document().begin().layout().lineAt(0)
    other = body_with(qtbot, "x y")
    plain = other.document().begin().layout().lineAt(0)
    assert body.height() == other.height()
    assert line.height() - line.ascent() == pytest.approx(plain.height() - plain.ascent(), abs=0.5)


def test_wide_formula_is_drawn_within_the_text(qtbot: QtBot) -> None:
    body = body_with(qtbot, "$$\n" + "+".join(f"x_{{{n}}}" for n in range(60)) + "\n$$")
    _wait_for_formulas(qtbot, body, 1)
    body.fit(WIDTH)
    assert body.document().size().width() <= WIDTH


@pytest.mark.parametrize(
    "latex", ["\\frac{", "\\nosuchmacro{x}", "{" * 900, "\\def\\x{\\x}\\x", "\\text{سلام}", ""]
)
def test_formula_that_cannot_be_set_has_no_drawing(latex: str) -> None:
    assert set_formula(FormulaTask(latex, False, 16.0, "#000000")) is None


@pytest.mark.parametrize(
    "latex",
    ["x^2", "\\begin{cases}1&x>0\\\\0\\end{cases}", "\\begin{gather}a\\\\b\\end{gather}", "a \\tag{1}"],
)
def test_drawing_has_shapes_only_and_its_baseline_inside(latex: str) -> None:
    drawing = set_formula(FormulaTask(latex, True, 16.0, "#123456"))
    assert drawing is not None
    assert "href" not in drawing.svg
    assert "#123456" in drawing.svg
    assert drawing.width > 0
    assert drawing.ascent > 0


def test_formula_that_is_not_set_stays_source(qtbot: QtBot) -> None:
    long = "x+" * MAX_FORMULA + "x"
    body = body_with(qtbot, f"$\\nosuchmacro$ and $y_{{99}}$ and\n\n$$\n{long}\n$$")
    _wait_for_formulas(qtbot, body, 1)
    assert body.toPlainText().startswith(f"$\\nosuchmacro$ and {OBJECT} and")
    assert long in body.toPlainText()


def test_task_that_hangs_is_given_up_and_the_next_is_done(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Typesetter()
    first, second = (FormulaTask(latex, False, 16.0, "#000000") for latex in ("a", "b"))
    monkeypatch.setattr("app.views.markdown_typesetter._FIRST_LIMIT_MS", 1)
    own.request(first)
    monkeypatch.undo()
    own.request(second)
    qtbot.waitUntil(lambda: own.is_done(second), timeout=30_000)
    assert own.is_done(first)
    assert own.result(first) is None
    assert isinstance(own.result(second), FormulaDrawing)
    own.stop()


def test_stopping_does_not_wait_for_a_task(qtbot: QtBot) -> None:
    own = Typesetter()
    own.request(FormulaTask("x+" * 400, True, 16.0, "#000000"))
    with qtbot.assertNotEmitted(own.ready, wait=300):
        own.stop()


def test_body_may_go_while_its_formulas_are_being_set(qtbot: QtBot) -> None:
    def is_it(task: object) -> bool:
        return isinstance(task, FormulaTask) and task.latex == "z_{1234}"

    with qtbot.waitSignal(typesetter().ready, timeout=30_000, check_params_cb=is_it):
        body = MessageBody()
        body.show_text("$z_{1234}$", markdown=True, streaming=False)
        body.deleteLater()
        settle()


def test_selection_of_a_formula_gives_its_source(qtbot: QtBot) -> None:
    body = body_with(qtbot, "a $q_{7}$ b")
    _wait_for_formulas(qtbot, body, 1)
    cursor = body.textCursor()
    cursor.setPosition(2)
    cursor.setPosition(3, QTextCursor.MoveMode.KeepAnchor)
    body.setTextCursor(cursor)
    assert body.createMimeDataFromSelection().text() == "$q_{7}$"
