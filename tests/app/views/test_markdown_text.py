"""Copying: what is selected, and a whole message as plain text."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.views.markdown_text import text_of_markdown
from tests.app.views.message_bodies import body_with

_TEXT = """# Title

Some **bold** `code` and [a link](https://x.example).

1. one
2. two
   - inner

```python
if x:
    y()
```

| a | long |
|---|------|
| 1 | 2 |

Costs $5, is $x^2$.
"""


def test_message_as_text_has_no_marks_and_keeps_its_shape() -> None:
    assert text_of_markdown(_TEXT) == (
        "Title\n\nSome bold code and a link (https://x.example).\n\n1. one\n2. two\n   - inner\n\n"
        "if x:\n    y()\n\na | long\n1 | 2\n\nCosts $5, is $x^2$."
    )


def test_text_that_is_too_complex_is_copied_as_it_is() -> None:
    assert text_of_markdown("> " * 500 + "x") == "> " * 500 + "x"


def test_selection_is_copied_as_plain_text(qtbot: QtBot) -> None:
    body = body_with(qtbot, _TEXT)
    body.selectAll()
    copied = body.createMimeDataFromSelection()
    assert copied.formats() == ["text/plain"]
    assert copied.text() == (
        "Title\nSome bold code and a link.\n1. one\n2. two\n  - inner\nif x:\n    y()\na\tlong\n1\t2\n"
        "Costs $5, is $x^2$."
    )


def test_copy_key_copies(qtbot: QtBot) -> None:
    body = body_with(qtbot, "Some **bold** text")
    body.selectAll()
    QTest.keyClick(body, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Some bold text"


def test_part_of_a_line_is_copied_without_its_marker(qtbot: QtBot) -> None:
    body = body_with(qtbot, "- 😀 item one")
    cursor = body.document().find("item")
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    body.setTextCursor(cursor)
    assert body.createMimeDataFromSelection().text() == "item one"
