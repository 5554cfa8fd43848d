"""The page of downloads: what each one offers, what is asked first, and with which keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.views import download_words
from app.views.theme import apply_theme
from engine.download.download_values import DownloadStatus
from engine.hub.hub_errors import Remedy
from tests.app.download_stage import one_of_each_kind, state
from tests.app.downloads_page_stage import Stage, buttons_of

STATUS = DownloadStatus
FAILED_REASON = "It cannot be read."


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[Stage]:
    stage = Stage(qtbot)
    yield stage
    stage.service.close()


def test_an_empty_page_says_what_to_do_first(qtbot: QtBot, stage: Stage) -> None:
    assert stage.page.discover.isVisible()
    with qtbot.waitSignal(stage.page.discover_requested):
        stage.page.discover.click()
    stage.show(state())
    assert not stage.page.discover.isVisible()
    stage.show()
    assert stage.page.discover.isVisible()


@pytest.mark.parametrize(
    ("status", "buttons"),
    [
        (STATUS.RUNNING, {"Pause", "Cancel"}),
        (STATUS.QUEUED, {"Pause", "Cancel"}),
        (STATUS.WAITING, {"Pause", "Cancel"}),
        (STATUS.PAUSED, {"Resume", "Cancel"}),
        (STATUS.FAILED, {"Cancel"}),
        (STATUS.ELSEWHERE, set()),
        (STATUS.DONE, {"Use", "Show in its folder"}),
    ],
)
def test_each_status_offers_what_can_be_done(stage: Stage, status: DownloadStatus, buttons: set[str]) -> None:
    (row,) = stage.show(state(status=status))
    assert buttons_of(row) == buttons


def test_a_row_tells_how_far_it_is(stage: Stage) -> None:
    (row,) = stage.show(state("m", bytes_per_second=12.34e6, seconds_left=264.0))
    assert row.name.text().endswith("m")
    assert row.repository.text().endswith("org/m-GGUF")
    separator = "  \N{MIDDLE DOT}  "
    assert row.figures.text().split(separator) == ["Downloading", "1.2 of 4.5 GB", "12.3 MB/s", "4 min left"]
    assert row.bar.value() == 277


@pytest.mark.parametrize(
    ("done", "total", "words"),
    [
        (0, 4_500_000_000, "0.0 of 4.5 GB"),
        (4_499_999_999, 4_500_000_000, "4.4 of 4.5 GB"),
        (123_999_999, 456_000_000, "123 of 456 MB"),
        (900, 2_000, "0.9 of 2.0 KB"),
        (14_837, 14_837, "14.8 of 14.8 KB"),
        (14_878, 14_878, "14.9 of 14.9 KB"),
    ],
)
def test_what_is_not_all_there_never_reads_so(done: int, total: int, words: str) -> None:
    assert download_words.part(done, total) == words


def test_pause_and_resume(stage: Stage) -> None:
    (row,) = stage.show(state("m"))
    row.toggle.click()
    (row,) = stage.show(state("m", STATUS.PAUSED))
    row.toggle.setFocus()
    row.toggle.click()
    assert row.toggle.hasFocus()
    assert stage.queue.asked[-1] == ("resume", "org/m-GGUF/m.gguf")


def test_a_finished_one_is_used_or_shown(qtbot: QtBot, stage: Stage) -> None:
    path = Path("/models/m.gguf")
    (row,) = stage.show(state("m", STATUS.DONE, 4_500_000_000, path=path))
    with qtbot.waitSignal(stage.page.use_requested) as wish:
        row.use.click()
    assert wish.args == [str(path)]
    row.reveal.click()
    assert stage.shown == [path]
    assert stage.page.clear.isEnabled()
    stage.page.clear.click()
    assert stage.queue.asked == [("clear_finished",)]


def test_a_failure_has_buttons_for_what_helps(qtbot: QtBot, stage: Stage) -> None:
    (row,) = stage.show(
        state("m", STATUS.FAILED, reason=FAILED_REASON, remedies=tuple(Remedy), page="https://hub/m")
    )
    assert row.reason.text() == FAILED_REASON
    assert row.reason.isVisible()
    assert row.toggle.text() == "Try again"
    row.remedies[Remedy.ACCEPT_TERMS].click()
    assert stage.opened == ["https://hub/m"]
    with qtbot.waitSignal(stage.page.token_requested):
        row.remedies[Remedy.ENTER_TOKEN].click()
    row.remedies[Remedy.TRY_WITHOUT_TOKEN].click()
    row.toggle.click()
    id_ = "org/m-GGUF/m.gguf"
    assert stage.queue.asked == [("retry", id_, True), ("resume", id_)]


def test_another_failure_has_otherbuttons_of(stage: Stage) -> None:
    token = (Remedy.TRY_WITHOUT_TOKEN, Remedy.ENTER_TOKEN)
    (row,) = stage.show(state("m", STATUS.FAILED, reason="The token was refused.", remedies=token))
    assert buttons_of(row) == {"Try without the token", "Enter a token", "Cancel"}
    again = (Remedy.ACCEPT_TERMS, Remedy.TRY_AGAIN)
    stage.show(state("m", STATUS.FAILED, reason="It is gated.", remedies=again))
    assert buttons_of(row) == {"Read the terms", "Try again", "Cancel"}
    stage.show(state("m"))
    assert buttons_of(row) == {"Pause", "Cancel"}


def test_dead_ones_can_be_cleared_and_not_resumed(stage: Stage) -> None:
    dead = state("m", STATUS.FAILED, 0, reason=FAILED_REASON)
    stage.show(dead)
    assert not stage.page.resume_all.isEnabled()
    assert (stage.page.clear.text(), stage.page.clear.isEnabled()) == ("Clear stopped", True)
    stage.page.clear.click()
    assert stage.queue.asked == [("clear_finished",)]
    stage.show(state("m", STATUS.FAILED, 5_000, reason=FAILED_REASON, remedies=(Remedy.TRY_AGAIN,)))
    assert stage.page.resume_all.isEnabled()
    assert not stage.page.clear.isEnabled()
    stage.show(dead, state("a", STATUS.DONE, path=Path("/m/a.gguf")))
    assert stage.page.clear.text() == "Clear finished"


def test_names_from_a_repository_are_plain_text(stage: Stage) -> None:
    (row,) = stage.show(state("<b>x & \N{RIGHT-TO-LEFT OVERRIDE}y"))
    assert "<b>x & \N{REPLACEMENT CHARACTER}y" in row.name.text()
    assert row.name.textFormat() is Qt.TextFormat.PlainText


def test_all_at_once_and_how_many(stage: Stage) -> None:
    stage.show(state("a"), state("b", STATUS.PAUSED))
    stage.page.pause_all.click()
    stage.page.resume_all.click()
    stage.page.parallel.chosen.emit(3)
    asked = [wish[0] for wish in stage.queue.asked]
    assert asked == ["pause", "resume", "set_parallel"]
    stage.show(state("a", STATUS.DONE))
    assert not stage.page.pause_all.isEnabled()
    assert not stage.page.resume_all.isEnabled()


def test_rows_keep_their_widgets_and_the_focus_finds_a_neighbour(stage: Stage) -> None:
    first, second = stage.show(state("a"), state("b"))
    second.setFocus()
    assert stage.show(state("b"), state("a", done=5)) == [second, first]
    assert second.hasFocus()
    assert stage.show(state("a")) == [first]
    assert first.hasFocus()


def test_a_button_that_goes_leaves_the_focus_in_its_row(stage: Stage) -> None:
    (row,) = stage.show(state("a"))
    row.toggle.setFocus()
    stage.show(state("a", STATUS.DONE, path=Path("/m")))
    assert row.hasFocus()


def test_keys_of_a_row(stage: Stage) -> None:
    _, row = stage.show(state("a"), state("b", done=0))
    stage.page.setFocus()
    assert stage.page.list.rows[0].hasFocus()
    row.setFocus()
    QTest.keyClick(row, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    QTest.keyClick(row, Qt.Key.Key_Delete)
    id_ = "org/b-GGUF/b.gguf"
    assert stage.queue.asked == [("move", id_, -1), ("cancel", id_)]


def test_everything_has_a_name_for_screen_readers(stage: Stage) -> None:
    rows = stage.show(*one_of_each_kind())
    for row in rows:
        assert row.state
        assert row.accessibleName() == download_words.all_in_words(row.state)
        for button in row.findChildren(QPushButton):
            assert download_words.name(row.state) in button.accessibleName()
    for button in (stage.page.pause_all, stage.page.resume_all, stage.page.clear):
        assert button.accessibleName() or button.text()


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
def test_nothing_is_cut_in_a_small_window(stage: Stage, direction: Qt.LayoutDirection) -> None:
    stage.window.setLayoutDirection(direction)
    stage.window.resize(400, 500)  # what the sidebar leaves of 660 px
    rows = stage.show(*one_of_each_kind())
    viewport = stage.page.list.viewport()
    assert stage.page.width() <= 400
    for row in rows:
        for button in row.findChildren(QPushButton):
            if button.isVisible():
                left = button.mapTo(viewport, button.rect().topLeft()).x()
                assert left >= 0
                assert left + button.width() <= viewport.width()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_dressed(stage: Stage, theme: str) -> None:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    apply_theme(application, theme)
    stage.show(*one_of_each_kind())
    assert not stage.window.grab().isNull()
