"""Work off the window's thread: in order, and silent once it is not wanted any more."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.services.background import Background
from tests.app.conftest import settle


@pytest.fixture
def background(qtbot: QtBot) -> Iterator[Background]:
    background = Background("test-background")
    yield background
    background.close()


def test_jobs_run_elsewhere_and_are_answered_here_in_order(qtbot: QtBot, background: Background) -> None:
    here = threading.current_thread()
    answers: list[tuple[int | None, bool]] = []
    for number in range(3):
        background.run(
            lambda number=number: number if threading.current_thread() is not here else -1,  # type: ignore[misc]
            lambda result: answers.append((result, threading.current_thread() is here)),
        )
    qtbot.waitUntil(lambda: len(answers) == 3)
    assert answers == [(0, True), (1, True), (2, True)]


def test_a_job_that_fails_is_answered_with_nothing_and_the_next_one_runs(
    qtbot: QtBot, background: Background, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[int | None] = []
    background.run(lambda: 1 // 0, answers.append)
    background.run(lambda: 2, answers.append)
    qtbot.waitUntil(lambda: len(answers) == 2)
    assert answers == [None, 2]
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_nothing_is_answered_after_closing(qtbot: QtBot, background: Background) -> None:
    ready, go = threading.Event(), threading.Event()
    answers: list[bool | None] = []

    def job() -> bool:
        ready.set()
        return go.wait(5)

    background.run(job, answers.append)
    assert ready.wait(5)
    background.close()
    go.set()
    background.run(lambda: True, answers.append)
    settle()
    assert answers == []
