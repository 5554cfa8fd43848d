"""How long the window waits for a listing of 1,000 repositories under a hand that scrolls."""

from __future__ import annotations

import datetime
import os
import statistics
import time

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import pytest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.services.hub_search import PAGE, FoundPage, Question
from app.views.discover_results import DiscoverResults
from app.views.theme import apply_theme
from engine.hub.hub_values import Gating, RepoSummary, WeightsFormat
from tests.benchmarks.long_chat import Stalls

pytestmark = pytest.mark.benchmark

N_REPOS = 1000
LONGEST_STALL_MS = 50
LONGEST_FRAME_MS = 16


def _page(first: int) -> FoundPage:
    date = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    repos = tuple(
        RepoSummary(
            repo_id=f"owner-{number}/Model-{number}B-Instruct-GGUF",
            weights_format=WeightsFormat.GGUF,
            downloads=number * 997,
            likes=number,
            last_modified=date,
            license="apache-2.0",
            gating=Gating.AUTO if number % 9 == 0 else Gating.NONE,
        )
        for number in range(first, first + PAGE)
    )
    return FoundPage(Question("model"), repos, first == 0, first + PAGE < N_REPOS)


def test_listing_of_1000_repositories_scrolls_smoothly(qtbot: QtBot) -> None:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    apply_theme(application, "light")
    window = QWidget()
    window.setMinimumSize(320, 200)  # as the real window
    qtbot.addWidget(window)
    results = DiscoverResults()
    column = QVBoxLayout(window)
    column.addWidget(results)
    results.more_requested.connect(lambda: results.show_page(_page(results.repos.rowCount())))
    window.resize(900, 600)
    window.show()
    results.show_page(_page(0))
    qtbot.waitExposed(window)
    bar = results.list.verticalScrollBar()
    frames: list[float] = []
    stalls = Stalls()
    while results.repos.rowCount() < N_REPOS or bar.value() < bar.maximum():
        start = time.perf_counter()
        bar.setValue(bar.value() + 40)
        QApplication.processEvents()
        frames.append((time.perf_counter() - start) * 1000)
    stalls.stop()
    longest = max(stalls.found, default=0.0)
    middle = statistics.median(frames)
    print(
        f"{len(frames)} frames, median {middle:.1f} ms, longest {max(frames):.1f} ms, stall {longest:.0f} ms"
    )
    assert middle < LONGEST_FRAME_MS
    assert longest < LONGEST_STALL_MS
