"""One table of shortcuts for the window, the page and the tool tips."""

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QTextEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.views.shortcuts import Place, Section, shortcut, shortcuts, with_keys
from app.views.shortcuts_page import ShortcutsPage

# The offscreen platform knows no size hints, and cannot raise a window.
pytestmark = pytest.mark.qt_log_ignore("does not support")

IN_WINDOW = [row for row in shortcuts() if row.place is Place.WINDOW]


def test_ids_and_keys_are_used_once() -> None:
    ids = [row.id for row in shortcuts()]
    assert len(set(ids)) == len(ids)
    keys = [key for row in IN_WINDOW for key in row.keys]
    assert len(set(keys)) == len(keys)
    for row in shortcuts():
        assert all(not sequence.isEmpty() for sequence in row.sequences()), row.id
        assert row.words


def test_every_section_has_shortcuts() -> None:
    assert {row.section for row in shortcuts()} == set(Section)


def test_unknown_id_is_a_mistake() -> None:
    assert shortcut("palette").keys == ("Ctrl+K",)
    with pytest.raises(KeyError):
        shortcut("none")


def test_tool_tip_names_the_keys_as_the_system_writes_them() -> None:
    native = QKeySequence("Ctrl+N").toString(QKeySequence.SequenceFormat.NativeText)
    assert with_keys("New chat", "new_chat") == f"New chat (\u2066{native}\u2069)"


@pytest.mark.parametrize("kind", [QTextEdit, QLineEdit])
def test_window_keys_work_while_somebody_writes(qtbot: QtBot, kind: type[QWidget]) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    field = kind()
    QVBoxLayout(window).addWidget(field)
    pressed: list[str] = []
    for row in IN_WINDOW:
        for sequence in row.sequences():
            QShortcut(sequence, window, lambda name=row.id: pressed.append(name))
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    field.setFocus()
    expected = []
    for row, sequence in itertools.chain.from_iterable(
        ((row, sequence) for sequence in row.sequences()) for row in IN_WINDOW
    ):
        if row.id == "newest":  # in a field, Ctrl+End goes to the end of the text
            continue
        expected.append(row.id)
        QTest.keySequence(field, sequence)
    assert pressed == expected


def test_page_lists_all_of_them_and_escape_leaves_it(qtbot: QtBot) -> None:
    page = ShortcutsPage()
    qtbot.addWidget(page)
    page.resize(700, 500)
    page.show()
    texts = [label.text() for label in page.findChildren(QLabel)]
    assert all(row.words in texts for row in shortcuts())
    with qtbot.waitSignal(page.closed, timeout=500):
        QTest.keyClick(page, Qt.Key.Key_Escape)
    with qtbot.waitSignal(page.closed, timeout=500):
        page.close_button.click()


@pytest.mark.parametrize(("width", "n_columns"), [(460, 1), (1000, 2)])
def test_page_has_as_many_columns_as_there_is_room_for(qtbot: QtBot, width: int, n_columns: int) -> None:
    page = ShortcutsPage()
    qtbot.addWidget(page)
    page.resize(width, 500)
    page.show()
    qtbot.waitExposed(page)
    qtbot.wait(20)
    headings = [label for label in page.findChildren(QLabel) if label.objectName() == "groupTitle"]
    assert len({label.mapTo(page, label.rect().topLeft()).x() for label in headings}) == n_columns
    content = page.widget()
    assert content is not None
    assert content.width() <= page.viewport().width(), "nothing is cut off at the side"
