"""A load can be given up by keyboard alone."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from engine.protocol import Cancel
from tests.app.conftest import Desk, settle


def _offer(desk: Desk) -> str:
    [command] = [one for one in desk.weir.commands.offers() if one.id == "cancel_loading"]
    return command.unavailable_because


def test_escape_and_the_palette_give_up_a_load(desk: Desk, tmp_path: Path) -> None:
    loader = desk.weir.loader

    def press_escape() -> None:
        QTest.keyClick(desk.weir.window.composer.edit, Qt.Key.Key_Escape)

    for give_up in (press_escape, lambda: desk.weir.commands.carry_out("cancel_loading")):
        assert _offer(desk)
        loader.load(str(tmp_path / "other.gguf"))
        settle()
        assert loader.loading and not _offer(desk)
        give_up()
        settle()
        assert not loader.loading
        assert loader.present  # what answered before goes on


def test_escape_stops_a_reply_before_a_load(desk: Desk, tmp_path: Path) -> None:
    desk.send("Hello")
    desk.say(desk.engine.newest.write, "Hi")
    loader, answering = desk.weir.loader, desk.engine.newest
    loader.load(str(tmp_path / "other.gguf"))
    settle()
    QTest.keyClick(desk.weir.window.composer.edit, Qt.Key.Key_Escape)
    settle()
    assert loader.loading
    assert isinstance(answering.sent[-1], Cancel)
