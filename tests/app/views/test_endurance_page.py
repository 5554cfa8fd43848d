"""The page of endurance runs: its controls, its curves, its table and what it takes away."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QApplication, QComboBox, QWidget
from pytestqt.qtbot import QtBot

from app.services.endurance import EnduranceMeasurement
from app.views.axis_ticks import linear_ticks, log_ticks
from app.views.endurance_page import EndurancePage
from app.views.theme import apply_theme
from app.views.tokens import DARK, LIGHT
from engine.protocol import (
    Endurance,
    EnduranceRun,
    Endure,
    ErrorCode,
    ErrorReport,
    Event,
    Failed,
    LoadProgress,
)
from tests.app.conftest import Desk, settle
from tests.app.scripted_engine import model_info
from tests.app.services.test_endurance import progress, report


class Stand:
    """The page beside the running program, with hands on both."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.loader = desk.weir.loader
        self.measurement = EnduranceMeasurement(self.loader, desk.weir.preferences, desk.engine)
        self.obstacle = ""
        self.page = EndurancePage(self.measurement, lambda: self.loader.info, lambda: self.obstacle)
        self.page.resize(900, 700)

    def start(self, *runs: EnduranceRun) -> None:
        for run, box in self.page.form.runs.items():
            box.setChecked(run in runs)
        self.page.run.click()
        settle()

    def say(self, event: Event) -> None:
        self.desk.say(self.desk.engine.newest.say, event)

    def column(self, index: int) -> list[str]:
        """The title of a column in the table, and its figures."""
        table = self.page.table
        items = [table.horizontalHeaderItem(index)]
        items += [table.item(row, index) for row in range(table.rowCount())]
        return [item.text() for item in items if item]


@pytest.fixture
def stand(desk: Desk, qtbot: QtBot) -> Stand:
    stand = Stand(desk)
    qtbot.addWidget(stand.page)
    stand.page.show()
    return stand


def test_defaults_are_what_is_run(stand: Stand) -> None:
    stand.page.run.click()
    command = stand.desk.engine.newest.sent[0]
    assert isinstance(command, Endure)
    assert (command.n_tokens, command.n_ctx, command.n_sinks) == (5000, 1024, 4)
    assert command.run is EnduranceRun.ENDLESS
    assert stand.measurement.position == (1, 3)


def test_windows_go_up_to_the_trained_context_and_sinks_to_half_of_one(stand: Stand) -> None:
    form = stand.page.form
    form.show_model(replace(model_info("/m.gguf"), n_ctx_train=2048))
    sizes = [form.window_size.itemText(row) for row in range(form.window_size.count())]
    assert sizes == ["256", "512", "1,024", "2,048"]
    assert form.choices().n_ctx == 1024
    form.window_size.setCurrentText("256")
    form.sinks.setValue(5000)
    assert form.choices().n_sinks == 128


def test_model_that_cannot_drop_its_middle_is_only_run_exactly(stand: Stand) -> None:
    form = stand.page.form
    form.show_model(replace(model_info("/m.gguf"), endurance=Endurance.CANNOT, endurance_reason="It cannot."))
    assert form.choices().runs == (EnduranceRun.EXACT,)
    assert form.runs[EnduranceRun.ENDLESS].toolTip() == "It cannot."
    form.show_model(model_info("/m.gguf"))
    assert form.choices().runs == tuple(EnduranceRun)


def test_nothing_can_be_run_without_a_run_or_a_model(stand: Stand) -> None:
    for box in stand.page.form.runs.values():
        box.setChecked(False)
    assert not stand.page.run.isEnabled()
    stand.page.form.runs[EnduranceRun.EXACT].setChecked(True)
    assert stand.page.run.isEnabled()
    stand.desk.say(stand.desk.engine.newest.die)
    assert not stand.page.run.isEnabled()
    assert "Choose a model first" in stand.page.hint.text()


def test_progress_fills_curves_and_says_how_long_it_takes(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(stand.measurement, "_clock", lambda: now[0])
    stand.start(EnduranceRun.ENDLESS, EnduranceRun.EXACT)
    assert stand.page.progress_text.text() == "endless, run 1 of 2: loading the model"
    stand.say(LoadProgress(0.5))
    assert stand.page.bar.value() == 500
    stand.say(progress(0, tps=None))
    now[0] = 4.0
    stand.say(progress(2000, 12.5, math.inf))
    assert stand.page.progress_text.text() == "endless, run 1 of 2: 2,000 of 5,000 tokens, 6 s left"
    assert stand.page.bar.value() == 400
    plot = stand.page.plot
    assert plot is not None
    [thousand] = plot.points(plot.perplexity, EnduranceRun.ENDLESS)
    assert thousand == pytest.approx((1000, math.log10(12.5)))
    [speed] = plot.points(plot.speed, EnduranceRun.ENDLESS)
    assert speed == pytest.approx((2000, 400.0))
    assert plot.points(plot.memory, EnduranceRun.ENDLESS) == [(0, 400.0), (2000, 400.0)]
    assert plot.points(plot.perplexity, EnduranceRun.EXACT) == []


def test_run_that_was_stopped_does_not_look_finished(stand: Stand) -> None:
    stand.start(EnduranceRun.ENDLESS, EnduranceRun.EXACT)
    stand.say(progress(0, tps=None))
    stand.say(report())
    stand.say(progress(0, tps=None))
    stand.page.run.click()
    stand.say(report(EnduranceRun.EXACT, n_tokens=62))
    assert stand.page.progress_text.text() == "exact: stopped after 62 of 5,000 tokens"
    assert stand.page.progress_text.isVisible()
    stand.start(EnduranceRun.ENDLESS)
    assert "stopped" not in stand.page.progress_text.text()


def test_table_has_a_column_for_each_report(stand: Stand) -> None:
    stand.start(EnduranceRun.ENDLESS, EnduranceRun.WINDOW)
    assert stand.page.table.isHidden()
    stand.say(report())
    stand.say(
        report(
            EnduranceRun.WINDOW,
            perplexity_second_half=math.nan,
            tps=None,
            rss_growth_bytes=None,
            shift_ms=None,
            shifts=0,
        )
    )
    endless = ["endless", "5,000", "11.50", "431 tok/s", "413 MiB", "1.5 MiB", "16", "2", "2.3 ms"]
    window = ["no sinks", "5,000", "n/a", "n/a", "413 MiB", "n/a", "16", "0", "n/a"]
    assert [stand.column(0), stand.column(1)] == [endless, window]


def test_stop_button_ends_the_run_with_what_was_measured(stand: Stand) -> None:
    stand.start(EnduranceRun.ENDLESS, EnduranceRun.EXACT)
    stand.say(progress(1000, 12.5))
    assert stand.page.run.text() == "Stop"
    assert not stand.page.form.tokens.isEnabled()
    stand.page.run.click()
    assert stand.page.progress_text.text() == "endless: stopping"
    stand.say(report(n_tokens=1200, perplexity=(12.5,)))
    assert stand.page.run.text() == "Run"
    assert stand.column(0)[1] == "1,200"
    assert stand.page.form.tokens.isEnabled()


def test_failure_is_told_on_the_page_until_the_next_start(stand: Stand) -> None:
    stand.start(EnduranceRun.ENDLESS)
    stand.say(Failed(None, ErrorReport(ErrorCode.MODEL_FILE, "The file is cut short.")))
    assert stand.page.problem.isVisible()
    assert stand.page.problem.text() == "The file is cut short."
    stand.page.run.click()
    assert not stand.page.problem.isVisible()


def test_reply_meanwhile_is_named_in_a_quiet_line(stand: Stand) -> None:
    chat = stand.desk.engine.newest
    stand.start(EnduranceRun.ENDLESS)
    stand.desk.send("Hello")
    assert not stand.page.disturbed.isVisible()
    stand.desk.say(chat.write, "Hi")
    assert stand.page.disturbed.isVisible()
    stand.desk.say(chat.finish, "Hi")
    assert not stand.page.disturbed.isVisible()


def test_close_ends_the_worker_and_leaves_the_page(stand: Stand, qtbot: QtBot) -> None:
    stand.start(EnduranceRun.ENDLESS)
    with qtbot.waitSignal(stand.page.closed):
        stand.page.close_button.click()
    qtbot.waitUntil(lambda: stand.desk.engine.newest.closed)
    assert stand.page.run.text() == "Run"


# --- what is taken away ---------------------------------------------------------------------------


def test_exports_hold_what_was_measured(stand: Stand, tmp_path: Path) -> None:
    stand.start(EnduranceRun.ENDLESS)
    assert not stand.page.exports.isVisible()
    stand.say(progress(1000, 12.5))
    assert stand.page.exports.actions_of["svg"].isEnabled()
    assert not stand.page.exports.actions_of["csv"].isEnabled()
    stand.say(report())
    for form in ("csv", "json", "md", "png", "svg"):
        stand.page.exports.export(form, str(tmp_path / f"out.{form}"))
        assert stand.page.exports.told.text() == f"Saved as {tmp_path / f'out.{form}'}."
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["perplexity"] == [12.5, 11.25]
    assert (tmp_path / "out.csv").read_text("utf-8").count("\n") == 3
    assert "| Policy | endless |" in (tmp_path / "out.md").read_text("utf-8")
    assert stand.page.plot is not None
    assert QImage(str(tmp_path / "out.png")).width() == stand.page.plot.view.width() * 2
    svg = ElementTree.parse(tmp_path / "out.svg").getroot()
    texts = {(element.text or "").strip() for element in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"endless", "Tokens read", "Tokens a second", "5,000"} <= texts


def test_export_that_fails_is_told_in_one_sentence(stand: Stand, tmp_path: Path) -> None:
    stand.start(EnduranceRun.ENDLESS)
    stand.say(report())
    stand.page.exports.export("csv", str(tmp_path / "gone" / "out.csv"))
    assert "could not be written" in stand.page.exports.told.text()


def test_results_can_be_copied_as_markdown(stand: Stand) -> None:
    stand.start(EnduranceRun.ENDLESS)
    stand.say(report())
    stand.page.exports.copy_button.click()
    assert "| Policy | endless |" in QGuiApplication.clipboard().text()


# --- looks and keys -------------------------------------------------------------------------------


def test_curves_wear_the_colours_of_the_theme(stand: Stand, qapp: QApplication) -> None:
    apply_theme(qapp, "light")
    stand.start(EnduranceRun.ENDLESS)
    stand.say(progress(1000, 12.5))
    plot = stand.page.plot
    assert plot is not None
    assert plot.view.backgroundBrush().color().name() == LIGHT.surface
    apply_theme(qapp, "dark")
    settle()
    assert plot.view.backgroundBrush().color().name() == DARK.surface
    apply_theme(qapp, "light")


def test_every_control_has_a_name_and_tab_visits_them_in_reading_order(stand: Stand) -> None:
    stand.start(EnduranceRun.ENDLESS)
    stand.say(report())
    page = stand.page
    controls = [
        widget
        for kind in (QAbstractButton, QComboBox, QAbstractSpinBox)
        for widget in page.findChildren(kind)
        if widget.isVisible() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    assert len(controls) == 12
    assert all(control.accessibleName() or getattr(control, "text", str)() for control in controls)
    order: list[QWidget] = [page.close_button]
    while (following := order[-1].nextInFocusChain()) not in (None, order[0]):
        assert following is not None
        order.append(following)
    form = page.form
    expected = [page.close_button, form.tokens, form.window_size, form.sinks, form.shift, form.kv_type]
    expected += [*form.runs.values(), page.run, page.exports.export_button, page.exports.copy_button]
    assert [widget for widget in order if widget in controls] == expected


def test_ticks_are_round_numbers() -> None:
    assert [text for _, text in linear_ticks(0, 20_000)] == ["0", "5,000", "10,000", "15,000", "20,000"]
    assert linear_ticks(0.0, 0.0) == []
    assert [text for _, text in log_ticks(9.4, 21.0)] == ["10", "12", "14", "16", "18", "20"]
    wide = log_ticks(8.0, 700.0)
    assert [text for _, text in wide] == ["10", "20", "50", "100", "200", "500"]
    assert [10**place for place, _ in wide] == pytest.approx([10, 20, 50, 100, 200, 500])


WINDOW_ALONE = """
import sys
from PySide6.QtWidgets import QApplication
from app.window import Weir
from tests.app.scripted_engine import ScriptedEngine
application = QApplication([])
weir = Weir(ScriptedEngine(), None)
weir.show()
application.processEvents()
assert weir.open is not None
print(sorted({"pyqtgraph", "numpy"} & set(sys.modules)))
weir.window.close()
"""


def output_of(program: str, home: Path) -> str:
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "WEIR_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_window_starts_without_the_plotting_library(tmp_path: Path) -> None:
    assert output_of(WINDOW_ALONE, tmp_path) == "[]"


def test_page_opens_in_the_window_and_a_chat_takes_its_place_again(desk: Desk) -> None:
    window = desk.weir.window
    desk.send("Hello")
    [chat] = desk.store.list_chats()
    window.sidebar.endurance.click()
    page = desk.weir.pages.endurance
    assert window.pages.currentWidget() is page
    assert not window.composer.isVisible()
    desk.say(desk.engine.newest.finish, "Hi")
    assert window.pages.currentWidget() is page, "a reply that ends is no reason to leave"
    for leave in (
        lambda: window.sidebar.chat_chosen.emit(chat.id),
        window.sidebar.new_chat.click,
        page.close_button.click if page else None,
    ):
        window.sidebar.endurance.click()
        assert window.pages.currentWidget() is page
        assert leave is not None
        leave()
        assert window.pages.currentWidget() is not page
        assert window.composer.isVisible()
        assert not window.sidebar.endurance.isChecked()


def test_closing_the_window_ends_a_run(desk: Desk) -> None:
    desk.weir.window.sidebar.endurance.click()
    assert desk.weir.pages.endurance is not None
    desk.weir.pages.endurance.run.click()
    assert isinstance(desk.engine.newest.sent[0], Endure)
    desk.weir.window.close()
    assert [client.closed for client in desk.engine.clients] == [True, True]


SHOWS_CURVES = """
from PySide6.QtCore import QTimer
import app.window
from tests.app.scripted_engine import ScriptedEngine
from tests.app.services.test_endurance import progress
engine = app.window.EngineClient = ScriptedEngine()
show = app.window.Weir.show

def run(weir):
    if not engine.clients or not engine.newest.sent:  # whether the model fits is looked at first
        QTimer.singleShot(50, lambda: run(weir))
        return
    engine.newest.load()
    QTimer.singleShot(0, lambda: measure(weir))

def measure(weir):
    weir.window.sidebar.endurance.click()
    weir.pages.endurance.run.click()
    engine.newest.say(progress(1000, 12.5))
    QTimer.singleShot(100, lambda: close(weir))

def close(weir):
    print(weir.pages.endurance.plot.isVisible())
    weir.window.close()

def show_and_run(weir, on_started):
    show(weir, on_started)
    QTimer.singleShot(100, lambda: run(weir))

app.window.Weir.show = show_and_run
raise SystemExit(app.window.run_window([]))
"""


def test_program_that_drew_curves_ends_cleanly(tmp_path: Path) -> None:
    assert output_of(SHOWS_CURVES, tmp_path) == "True"


def test_what_stands_in_the_way_is_said_and_nothing_is_run_meanwhile(stand: Stand) -> None:
    page = stand.page
    stand.obstacle = "A benchmark is running."
    page.refresh()
    assert not page.run.isEnabled() and page.progress_text.text() == "A benchmark is running."
    stand.obstacle = ""
    page.refresh()
    assert page.run.isEnabled() and page.progress_text.text() == ""
