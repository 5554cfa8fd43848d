"""Benchmarks side by side: which run a column is, how two differ, and what the plots show of series."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QLocale, QModelIndex, QPointF, Qt
from PySide6.QtWidgets import QLineEdit, QScrollArea
from pytestqt.qtbot import QtBot

from app.data.bench_record import BenchRecord
from app.data.bench_store import RunFacts, StoredRun
from app.views import bench_bars, bench_words
from app.views.bench_compared import Compared, begun_at, run_names, run_title
from app.views.bench_live_rows import live_rows
from app.views.bench_plot import BenchPlot
from app.views.bench_results_view import BenchResultsView
from app.views.bench_table import BenchTable
from tests.app.bench_stage import FIRST, SECOND, BenchStage, prompt_record, record
from tests.app.conftest import settle

MINUTE = 1_700_000_040.0
"""The beginning of one."""


@pytest.fixture(autouse=True)
def german() -> Iterator[None]:
    """A locale with a known way to write dates."""
    before = QLocale()
    QLocale.setDefault(QLocale("de_DE"))
    yield
    QLocale.setDefault(before)


@pytest.fixture
def plot(qtbot: QtBot) -> Iterator[BenchPlot]:
    area = QScrollArea()
    qtbot.addWidget(area)
    plot = BenchPlot()
    area.setWidget(plot)
    area.setWidgetResizable(True)
    area.resize(700, 600)
    area.show()
    yield plot


def run(id_: str, begun_at: float, label: str = "", n_cases: int = 0, n_measured: int = 0) -> StoredRun:
    return StoredRun(RunFacts(id_, begun_at, "Old machine", n_cases), label, (), n_measured)


def chat(n_prompt: int, depth: int, rate: float, **facts: Any) -> BenchRecord:
    return record(test_kind="chat", n_prompt=n_prompt, n_depth=depth, decode_ts=rate, **facts)


def cells(chosen: list[Compared], qtbot: QtBot) -> tuple[list[str], dict[str, list[str]]]:
    """Heads of the columns, and the texts of each row."""
    table = BenchTable()
    qtbot.addWidget(table)
    table.show_results(chosen)
    model, columns = table.model(), range(table.columnCount())
    rows = {
        model.headerData(row, Qt.Orientation.Vertical): [model.index(row, at).data() for at in columns]
        for row in range(table.rowCount())
    }
    return [model.headerData(at, Qt.Orientation.Horizontal) for at in columns], rows


# --- which run ------------------------------------------------------------------------------------


def test_runs_of_one_minute_are_told_apart_by_their_seconds() -> None:
    first, second, later = begun_at([run("a", MINUTE + 1), run("b", MINUTE + 59), run("c", MINUTE + 60)])
    assert first.endswith(":01") and second.endswith(":59") and first[:-2] == second[:-2]
    assert later.count(":") == 1, "no seconds where the minute says it all"
    runs = [run("a", MINUTE + 1), run("b", MINUTE + 59)]
    assert run_title(runs[0], runs) != run_title(runs[1], runs)


def test_run_is_called_by_its_label_and_by_its_time_too_where_two_have_the_same() -> None:
    assert run_names([run("a", MINUTE, "before"), run("b", MINUTE, "after")]) == ["before", "after"]
    first, second = run_names([run("a", MINUTE, "same"), run("b", MINUTE + 5, "same")])
    assert first.startswith("same, ") and first != second


def test_columns_name_their_run_and_two_are_set_against_each_other(qtbot: QtBot) -> None:
    slow, fast = record(samples_ns=(2 * 10**9,) * 2), record(samples_ns=(10**9,) * 2, kv_bytes=8)
    heads, rows = cells([Compared(slow, "before"), Compared(fast, "after")], qtbot)
    assert heads == ["tg100\nbefore", "tg100\nafter", "Second\nagainst first"]
    assert rows["Median"] == ["50.0 tok/s", "100 tok/s", "+100.0 %"]
    assert rows["KV cache"][2] == "n/a" and rows["Model"][2] == ""
    assert len(cells([Compared(slow)] * 3, qtbot)[0]) == 3, "only two have a difference"


def test_bars_of_two_runs_say_the_test_and_the_run() -> None:
    names = bench_words.labels([Compared(record(), "before"), Compared(record(), "after")])
    assert names == ["tg100 · before", "tg100 · after"]


# --- the spread of chats, the scale of live bars --------------------------------------------------


def test_chats_have_a_spread(qtbot: QtBot) -> None:
    measured = chat(64, 0, 40.0)
    assert bench_words.spread(measured).startswith("±15.7")
    assert cells([Compared(measured)], qtbot)[1]["Spread"] == ["±15.7 %\nof the whole chat"]
    assert bench_words.spread(replace(measured, samples_ns=(1,))) == "n/a"


def test_live_bars_stand_under_the_scale_that_they_share() -> None:
    rows = live_rows([record(), prompt_record(), record(n_depth=9)], None)
    assert [(row.name, row.value is None) for row in rows] == [
        ("Reading a prompt", True),
        ("pp512", False),
        ("Writing", True),
        ("tg100", False),
        ("tg100 @ d9", False),
    ]
    assert [row.text for row in rows if row.value is None] == [
        "full width: 512 tok/s",
        "full width: 50.0 tok/s",
    ]


# --- speed against depth --------------------------------------------------------------------------

SERIES = [
    Compared(chat(64, 0, 40.0), "today"),
    Compared(chat(64, 512, 30.0), "today"),
    Compared(chat(256, 0, 38.0), "today"),
    Compared(chat(256, 512, 28.0), "today"),
]


def test_each_series_has_its_line_in_whatever_order_it_was_chosen() -> None:
    expected = [
        bench_bars.Curve("chat pp256+tg100", ((0, 38.0), (512, 28.0))),
        bench_bars.Curve("chat pp64+tg100", ((0, 40.0), (512, 30.0))),
    ]
    for order in itertools.permutations(SERIES):
        assert bench_bars.depth_curves(order) == expected


def test_equal_series_of_two_runs_are_two_lines_with_the_names_of_the_runs() -> None:
    others = [replace(one, run="yesterday") for one in SERIES]
    curves = bench_bars.depth_curves([*SERIES, *others])
    assert len(curves) == 4 and {curve.name.rpartition(" · ")[2] for curve in curves} == {
        "today",
        "yesterday",
    }


def test_lines_are_whole_where_there_are_more_results_than_bars(plot: BenchPlot) -> None:
    chosen = [Compared(chat(64, depth, 40.0), "today") for depth in range(20)]
    plot.show_results(chosen, most_bars=12)
    [curve] = next(item for item in plot.plots if item.legend).listDataItems()
    assert len(curve.getData()[0]) == 20
    assert len(plot.plots[0].getAxis("left")._tickLevels[0]) == 12


def test_all_lines_are_drawn_and_the_legend_lies_above_all_points(plot: BenchPlot) -> None:
    chosen = [
        Compared(chat(n_prompt, depth, 40.0 + n_prompt), "today")
        for n_prompt in range(1, 7)
        for depth in (0, 512)
    ]
    plot.show_results(chosen)
    settle()
    curves = next(item for item in plot.plots if item.legend)
    assert len(curves.listDataItems()) == 6
    lowest = curves.legend.mapRectToScene(curves.legend.boundingRect()).bottom()
    assert lowest < curves.vb.mapViewToScene(QPointF(512, 46.0)).y() - 4
    labels = [label.text for _, label in curves.legend.items]
    assert labels[0] == "chat pp1+tg100"


def test_pictures_name_models_and_machine(plot: BenchPlot) -> None:
    plot.show_results([Compared(record(cpu_info="A <fast> processor"), "today")])
    settle()
    picture = plot.svg().decode()
    assert "Benchmarks: tiny" in picture and "A &lt;fast&gt; processor" in picture


# --- what the buttons act on ----------------------------------------------------------------------


@pytest.fixture
def stored(qtbot: QtBot, tmp_path: Path) -> Iterator[BenchResultsView]:
    """Two runs, the newer one above; the focus is on the older one."""
    stage = BenchStage(tmp_path)
    stage.store.add(FIRST, record())
    stage.store.add(SECOND, prompt_record())
    view = BenchResultsView(stage.results)
    area = QScrollArea()
    qtbot.addWidget(area)
    area.setWidget(view)
    area.setWidgetResizable(True)
    area.resize(900, 500)
    area.show()
    stage.results.refresh()
    view.tree.setCurrentIndex(view.models.index(1, 0))
    yield view
    stage.close()


def test_naming_and_deleting_are_of_what_is_ticked_before_what_has_the_focus(
    stored: BenchResultsView,
) -> None:
    newer: StoredRun = stored.models.index(0, 0).data(Qt.ItemDataRole.UserRole + 1)
    stored.choose(newer.results)
    stored.delete.click()
    assert stored.question.text.text() == "Delete the result pp512 for good?"
    stored.question.buttons[1].click()
    stored.name.click()
    assert stored.tree.currentIndex() == stored.models.index(0, 0)
    editor = stored.tree.findChild(QLineEdit)
    assert editor is not None


def test_two_ticked_runs_cannot_get_one_name(stored: BenchResultsView) -> None:
    assert stored.name.isEnabled(), "nothing is ticked: the row with the focus"
    model = stored.models
    for row in range(2):
        model.setData(
            model.index(row, 0, QModelIndex()), Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole
        )
    assert not stored.name.isEnabled() and stored.delete.isEnabled()


def test_stopped_run_is_headed_as_such() -> None:
    stopped = run("a", MINUTE, "mine", n_cases=10, n_measured=3)
    assert run_title(stopped, [stopped]).endswith("mine · stopped: 3 of 10 · Old machine")
    whole = replace(stopped, n_measured=10)
    assert "stopped" not in run_title(whole, [whole])
