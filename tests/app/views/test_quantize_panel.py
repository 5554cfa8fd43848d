"""Quantizing on the page of installed models, from the menu to the model that is there then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QMessageBox, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.data.installed_model import InstalledModel, Verification
from app.data.provenance import provenance_of
from app.data.settings import SettingsStore
from app.services.gauge_history import GaugeHistory
from app.services.machine_plans import MachinePlans
from app.services.model_loader import ModelLoader
from app.services.preferences import Preferences
from app.services.quantize_prospects import QuantizeProspects
from app.services.quantizing import Quantizing
from app.views.library_page import LibraryPage
from app.views.library_words import origin_in_words, why_not_quantized
from app.views.quantize_panel import QuantizePanel
from app.views.quit_question import may_quit
from engine.protocol import Quantize, QuantizeFinished, QuantizeProgress, QuantKind
from tests.app.conftest import settle
from tests.app.library_stage import LibraryStage, installed, small_model
from tests.app.planned_machine import Bench
from tests.app.scripted_engine import ScriptedEngine


class Shelf:
    """The page with the panel in it, and an engine that says what it is told."""

    def __init__(self, qtbot: QtBot, folder: Path) -> None:
        self.stage = LibraryStage(folder)
        self.stage.provenance = {}
        self.stage.library._provenance_of = provenance_of
        self.source = small_model(self.stage.own / "m-F16.gguf")
        self.folder = self.stage.own / "quantized"
        self.engine, self.bench = ScriptedEngine(), Bench(folder)
        store = SettingsStore(folder / "other.json")
        preferences = Preferences(store, store.load()[0])
        self.loader = ModelLoader(preferences, self.engine)
        plans = MachinePlans(self.bench.sources(), self.loader, GaugeHistory(), preferences)
        self.obstacle = ""
        jobs = self.stage.jobs
        self.quantizing = Quantizing(self.folder, self.engine, lambda: self.obstacle, lambda _name: jobs)
        self.prospects = QuantizeProspects(self.folder, plans, lambda _name: jobs)
        self.page = LibraryPage(
            *(self.stage.library, self.stage.removal, self.stage.imports, self.stage.preferences)
        )
        self.panel = QuantizePanel(self.quantizing, self.prospects, self.page.question)
        self.page.add_part(self.panel)
        self.page.list.quantize_requested.connect(self.panel.ask)
        self.quantizing.finished.connect(lambda _run, _event: self.stage.library.refresh())
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.window.setMinimumSize(320, 200)
        QVBoxLayout(self.window).addWidget(self.page)
        self.window.resize(900, 600)
        self.window.show()
        settle()

    @property
    def sheet_is_open(self) -> bool:
        return self.panel.sheet.isVisible()

    def model(self) -> InstalledModel:
        return self.stage.library.models[self.source]

    def ask(self) -> None:
        self.action(self.model()).trigger()
        settle()

    def action(self, model: InstalledModel) -> QAction:
        menu: QMenu = self.page.list.menu_of(model)
        (action,) = [action for action in menu.actions() if action.text().startswith("Quantize")]
        return action

    def start(self) -> None:
        self.ask()
        self.panel.sheet.start.click()
        settle()

    def finish(self, n_fallback: int = 0) -> Path:
        target = small_model(self.folder / "m-Q4_K_M.gguf")
        self.engine.newest.say(QuantizeFinished(str(target), 5 * 2**20, 1.0, "Q4_K_M", (), n_fallback))
        settle()
        return target


@pytest.fixture
def shelf(qtbot: QtBot, tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(qtbot, tmp_path)
    yield shelf
    shelf.quantizing.close()
    for thread in threading.enumerate():
        if thread.name == "quantize-end":
            thread.join(10)
    shelf.stage.close()
    shelf.loader.close(1)
    settle()


# --- the menu -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "enabled"), [("F16", True), ("BF16", True), ("Q8_0", True), ("Q4_K_M", False)]
)
def test_only_what_has_not_lost_quality_yet_is_offered(shelf: Shelf, label: str, enabled: bool) -> None:
    model = installed("m")
    action = shelf.action(replace(model, scanned=replace(model.scanned, quantization=label)))
    assert action.isEnabled() is enabled
    assert enabled or "quantized already (Q4_K_M)" in action.toolTip()


def test_what_cannot_chat_is_not_offered() -> None:
    assert why_not_quantized(installed("mmproj", reason="is a projector")) != ""


# --- the sheet ------------------------------------------------------------------------------------


def test_the_sheet_shows_now_and_then(shelf: Shelf) -> None:
    shelf.ask()
    sheet = shelf.panel.sheet
    assert sheet.title.text() == "Quantize m-F16"
    assert sheet.kind.currentText().startswith("Q4_K_M")
    now, then = sheet.figures["fits"]
    assert (now.text(), then.text()) == ("Fits", "Fits")
    assert sheet.figures["speed"][0].text() != sheet.figures["speed"][1].text()
    assert sheet.start.isEnabled() and sheet.kind.hasFocus()
    before = sheet.figures["file"][1].text()
    sheet.kind.setCurrentIndex(0)
    assert sheet.kind.currentText().startswith("Q8_0") and sheet.figures["file"][1].text() != before


def test_nothing_can_be_begun_before_the_answer_is_in_sight(shelf: Shelf) -> None:
    shelf.stage.jobs.holds = True
    shelf.ask()
    assert not shelf.panel.sheet.start.isEnabled()
    shelf.stage.jobs.go()
    assert shelf.panel.sheet.start.isEnabled()


def test_a_name_that_is_taken_stands_in_the_way_of_its_kind_alone(shelf: Shelf) -> None:
    small_model(shelf.folder / "m-Q4_K_M.gguf")
    shelf.ask()
    sheet = shelf.panel.sheet
    assert not sheet.start.isEnabled() and "m-Q4_K_M.gguf is there already" in sheet.problem.text()
    sheet.kind.setCurrentIndex(0)
    assert sheet.start.isEnabled() and sheet.problem.isHidden()


def test_missing_room_is_told(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.quantize_prospects.missing_bytes", lambda _n, _folder: 3 * 2**20)
    shelf.ask()
    assert shelf.panel.sheet.figures["disk"][1].text() == "474 MiB"  # less than the 500 MB that stay free
    assert not shelf.panel.sheet.start.isEnabled()
    assert "3 MiB are missing on the disk" in shelf.panel.sheet.problem.text()


def test_a_file_that_went_meanwhile_is_told(shelf: Shelf) -> None:
    model = shelf.model()
    shelf.source.unlink()
    shelf.panel.ask(model)
    assert "is missing" in shelf.panel.sheet.problem.text() and not shelf.panel.sheet.start.isEnabled()


def test_escape_leaves_the_sheet_and_the_panel_goes(shelf: Shelf) -> None:
    shelf.ask()
    QTest.keyClick(shelf.panel.sheet.kind, Qt.Key.Key_Escape)
    assert not shelf.sheet_is_open and shelf.panel.isHidden() and shelf.engine.clients == []


# --- while it runs --------------------------------------------------------------------------------


def test_progress_is_in_sight_and_can_be_cancelled(shelf: Shelf) -> None:
    shelf.start()
    assert not shelf.sheet_is_open
    target = str(shelf.folder / "m-Q4_K_M.gguf")
    assert shelf.engine.newest.sent == [Quantize(str(shelf.source), target, QuantKind.Q4_K_M)]
    shelf.engine.newest.say(QuantizeProgress(5, 10, 50, 100, 42.0))
    settle()
    line = shelf.panel.progress
    assert line.isVisible() and line.bar.value() == 500
    assert line.text.text() == "Quantizing m-F16 to Q4_K_M, 42 s left"
    assert line.bar.accessibleName() and line.cancel.accessibleName()
    line.cancel.click()
    assert not shelf.quantizing.running and shelf.panel.isHidden()


def test_another_one_has_to_wait(shelf: Shelf) -> None:
    shelf.start()
    shelf.ask()
    assert not shelf.sheet_is_open
    assert shelf.page.question.text.text().startswith("m-F16 is being quantized")


def test_a_benchmark_stands_in_the_way(shelf: Shelf) -> None:
    shelf.obstacle = "A benchmark is running."
    shelf.ask()
    assert not shelf.sheet_is_open and shelf.page.question.text.text() == "A benchmark is running."


# --- the end --------------------------------------------------------------------------------------


def test_the_new_model_is_listed_at_once_as_made_here_and_can_be_loaded(shelf: Shelf) -> None:
    loads: list[str] = []
    shelf.panel.load_requested.connect(loads.append)
    shelf.start()
    target = shelf.finish(n_fallback=180)
    model = shelf.stage.library.models[target]
    assert (model.verification, model.quantized_from) == (Verification.MADE_HERE, "m-F16")
    assert origin_in_words(model) == "quantized from m-F16 by Weir"
    assert shelf.page.models.row_of(target) is not None
    sentence = shelf.page.question.text.text()
    assert sentence.startswith("m-Q4_K_M is ready: 5 MiB.") and "180 of its tensors" in sentence
    shelf.page.question.buttons[0].click()
    assert loads == [str(target)] and shelf.panel.isHidden()


def test_a_made_model_that_changed_says_so() -> None:
    model = replace(installed("m"), quantized_from="m-F16", verification=Verification.CHANGED)
    assert origin_in_words(model) == "quantized from m-F16 by Weir, changed since"


def test_a_death_is_told_on_the_page(shelf: Shelf) -> None:
    shelf.start()
    shelf.engine.newest.die("GGML_ASSERT(x) failed")
    settle()
    assert "GGML_ASSERT(x) failed" in shelf.page.question.text.text() and shelf.panel.isHidden()


def test_a_verdict_is_shown_for_what_will_be(shelf: Shelf) -> None:
    shelf.bench.shrink_ram(2**20)
    shelf.ask()
    assert shelf.panel.sheet.figures["fits"][0].text() == "Too large"


# --- leaving Weir ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "leaves"), [("Leave", True), ("Stay", False)])
def test_leaving_is_asked_about(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, words: str, leaves: bool
) -> None:
    def choose(box: QMessageBox) -> int:
        assert box.text() == "m <b>is</b> being quantized."
        assert box.textFormat() is Qt.TextFormat.PlainText and box.defaultButton().text() == "Stay"
        (button,) = [button for button in box.buttons() if button.text() == words]
        button.click()
        return 0

    monkeypatch.setattr(QMessageBox, "exec", choose)
    assert may_quit("m <b>is</b> being quantized.") is leaves


def test_nothing_is_asked_where_nothing_would_be_lost() -> None:
    assert may_quit("")
