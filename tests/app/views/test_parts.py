"""The smaller parts: colours, numbers, gauges, notices, the window itself."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QTextCharFormat
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QListView, QTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.services.notice import Notice, NoticeAction
from app.views import number_format
from app.views.notice_banner import NoticeBanner
from app.views.theme import apply_theme
from app.views.tokens import DARK, LIGHT, Tokens, current_tokens
from app.window import Weir
from tests.app.conftest import Desk, settle
from tests.app.scripted_engine import ScriptedEngine, model_info


def _luminance(colour: str) -> float:
    c = QColor(colour)
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else math.pow((part + 0.055) / 1.055, 2.4)
        for part in (c.redF(), c.greenF(), c.blueF())
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_text_stands_out_from_its_background(tokens: Tokens) -> None:
    pairs = [
        *((tokens.text, back) for back in (tokens.window, tokens.surface, tokens.sidebar, tokens.raised)),
        *((tokens.text, back) for back in (tokens.own, tokens.code, tokens.selection, tokens.border)),
        *((tokens.muted, back) for back in (tokens.window, tokens.surface, tokens.own, tokens.raised)),
        *((tokens.accent, back) for back in (tokens.surface, tokens.own)),
        (tokens.on_accent, tokens.accent),
        *((tokens.warning, back) for back in (tokens.warning_surface, tokens.surface, tokens.own)),
        (tokens.warning, tokens.window),
        *((tokens.muted, back) for back in (tokens.code, tokens.window)),  # what the model does not see
    ]
    for text, background in pairs:
        high, low = sorted((_luminance(text), _luminance(background)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (text, background)


def test_theme_follows_the_choice(qapp: QApplication) -> None:
    apply_theme(qapp, "dark")
    assert current_tokens() is DARK
    apply_theme(qapp, "light")
    assert current_tokens() is LIGHT


def test_what_was_not_measured_reads_not_available() -> None:
    assert number_format.rate(None) == number_format.rate(math.nan) == number_format.rate(math.inf) == "n/a"
    assert number_format.seconds(None) == number_format.seconds(math.nan) == "n/a"
    assert number_format.size(None) == number_format.part(None, 5) == number_format.part(5, None) == "n/a"
    assert number_format.fraction(5, 0) == 0.0
    assert number_format.fraction(9, 8) == 1.0


def test_notice_stands_in_its_chat_with_its_button(qtbot: QtBot) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    banner = NoticeBanner(page)
    banner.set_chat("a")
    banner.add(Notice("general", action=NoticeAction.CHOOSE_MODEL))
    banner.add(Notice("of a", chat_id="a"))
    banner.add(Notice("of b", chat_id="b"))
    assert banner.text.text() == "of a"
    assert banner.action.isHidden()
    banner.set_chat("c")
    assert banner.text.text() == "general"
    with qtbot.waitSignal(banner.action_requested, timeout=500) as pressed:
        banner.action.click()
    assert pressed.args == [NoticeAction.CHOOSE_MODEL]
    assert banner.isHidden()
    banner.set_chat("b")
    assert banner.text.text() == "of b"


def test_fallback_chat_format_is_told_and_can_be_changed(desk: Desk) -> None:
    line = desk.weir.window.model_bar.format_line
    assert line.isHidden()
    info = dataclasses.replace(
        model_info("/models/m.gguf"), chat_format="chatml", chat_format_reason="The file has no template."
    )
    line.show_format(info)
    assert "chatml" in line.text.text()
    assert "The file has no template." in line.text.text()
    gemma = next(action for action in line.menu.actions() if action.text() == "gemma")
    gemma.trigger()
    settle()
    assert desk.engine.newest.load_command.chat_format == "gemma"


def test_every_control_has_a_name(desk: Desk) -> None:
    desk.send("Hello")
    desk.say(desk.engine.newest.finish, "Hi")
    kinds = (QAbstractButton, QTextEdit, QListView)
    nameless = [
        widget
        for kind in kinds
        for widget in desk.weir.window.findChildren(kind)
        if widget.isVisible() and not (widget.accessibleName() or getattr(widget, "text", str)())
    ]
    assert nameless == []


def test_tab_goes_through_the_window_in_reading_order(desk: Desk) -> None:
    desk.send("Hello")
    desk.say(desk.engine.newest.finish, "Hi")
    window = desk.weir.window
    window.activateWindow()
    window.sidebar.new_chat.setFocus()
    names: list[str] = []
    for _ in range(32):
        focused = window.focusWidget()
        assert isinstance(focused, QWidget)
        names.append(focused.accessibleName())
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    order = ["New chat", "Chats", "Messages", "Message by You", "Message by starter", "Message"]
    assert [name for name in names if name in order][: len(order)] == order


def test_shortcuts_act(desk: Desk) -> None:
    desk.send("Hello")
    window = desk.weir.window
    window.activateWindow()
    window.composer.setFocus()
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert type(desk.engine.newest.sent[-1]).__name__ == "Cancel"
    window.sidebar.list.setFocus()
    QTest.keyClick(window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert window.focusWidget() is window.composer.edit
    QTest.keyClick(window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    assert desk.controller.open_chat_id is None
    QTest.keyClick(window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    assert not window.isVisible()
    assert desk.engine.newest.closed


def test_window_stands_where_it_stood(start: Callable[[], Desk]) -> None:
    first = start()
    first.weir.window.resize(713, 541)
    settle()
    first.weir.window.close()
    assert start().weir.window.size().toTuple() == (713, 541)


def test_window_fits_900_by_600(desk: Desk) -> None:
    desk.weir.window.resize(900, 600)
    settle()
    assert desk.weir.window.size().toTuple() == (900, 600)
    assert desk.weir.window.status.geometry().bottom() <= 600


def test_qt_bindings_do_not_lose_references(qapp: QApplication) -> None:
    # PySide6 6.12.0 drops a reference to None in each call that returns nothing on Python 3.11, and the
    # process dies after some thousand of them.
    letters = QTextCharFormat()
    before = sys.getrefcount(None)
    for _ in range(500):
        letters.setFontItalic(True)
    assert sys.getrefcount(None) - before > -250


def test_chats_that_cannot_be_opened_are_told_and_nothing_is_begun(
    start: Callable[[], Desk], home: Path, engine: ScriptedEngine, qtbot: QtBot
) -> None:
    (home / "chats.db").mkdir()
    weir = Weir(engine, None)
    qtbot.addWidget(weir.window)
    weir.show()
    settle()
    assert "could not be" in weir.window.banner.text.text()
    assert not weir.window.composer.isEnabled()
    weir.window.close()


def test_chats_of_a_damaged_file_are_rescued_while_the_window_stands(
    start: Callable[[], Desk], home: Path, engine: ScriptedEngine, qtbot: QtBot
) -> None:
    desk = start()
    desk.send("Keep me")
    desk.weir.window.close()
    database = home / "chats.db"
    database.write_bytes(database.read_bytes()[:-1500])
    weir = Weir(engine, None)
    qtbot.addWidget(weir.window)
    weir.show()
    settle()
    qtbot.waitUntil(lambda: weir.open is not None, timeout=10_000)
    assert weir.window.composer.isEnabled()
    assert "damaged" in weir.window.banner.text.text()
    assert list(home.glob("chats-broken-*.db"))
    weir.window.close()
