"""The page before a load: what it shows, what it lets one do, and with which keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.data.settings import LoadSettings, SettingsStore
from app.services.gauge_history import GaugeHistory
from app.services.load_plans import LoadPlans
from app.services.model_loader import ModelLoader
from app.services.plan_result import PlanResult
from app.services.preferences import Preferences
from app.views.load_plan_page import LoadPlanPage
from app.views.plan_controls import context_stops
from app.views.plan_words import facts_in_words, parameters_in_words
from engine.dry_run import Refused
from engine.memory.memory_plan import PROCESS_BYTES, UNKNOWN_N_CTX_TRAIN
from engine.protocol import KVType
from tests import malformed_files as raw
from tests.app.conftest import settle
from tests.app.planned_machine import GIB, MIB, Bench, card, cpu, machine
from tests.app.scripted_engine import ScriptedEngine


class Stage:
    """The page in a window of its own, with what it asked for."""

    def __init__(self, qtbot: QtBot, bench: Bench) -> None:
        self.bench = bench
        store = SettingsStore(bench.folder / "settings.json")
        self.loader = ModelLoader(Preferences(store, store.load()[0]), ScriptedEngine())
        self.plans = LoadPlans(bench.sources(), self.loader, GaugeHistory())
        self.page = LoadPlanPage(self.plans)
        self.window = QWidget()
        column = QVBoxLayout(self.window)
        column.addWidget(self.page)
        qtbot.addWidget(self.window)
        self.loads: list[LoadSettings] = []
        self.closed: list[None] = []
        self.page.load_requested.connect(lambda _result, how: self.loads.append(how))
        self.page.closed.connect(lambda: self.closed.append(None))
        self.window.setMinimumSize(320, 200)  # as the real window: not what its parts ask for
        self.window.resize(660, 480)
        self.window.show()
        self.window.activateWindow()
        settle()

    def open(self, path: str | None = None, how: LoadSettings | None = None) -> LoadPlanPage:
        self.page.show_model(path or self.bench.model("SmolLM2"), how or LoadSettings())
        self.page.setFocus()
        settle()
        return self.page

    def press(self, key: Qt.Key, widget: QWidget | None = None) -> None:
        QTest.keyClick(widget or self.page.focusWidget() or self.page, key)
        settle()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def stage(qtbot: QtBot, bench: Bench) -> Iterator[Stage]:
    stage = Stage(qtbot, bench)
    yield stage
    stage.plans.close()


# --- what it shows ------------------------------------------------------------------------------------


def test_model_machine_and_verdict_are_told(stage: Stage) -> None:
    results: list[PlanResult] = []
    stage.plans.planned.connect(lambda _path, result: results.append(result))
    page = stage.open()
    assert page.title.text() == "SmolLM2"
    assert "trained for 8,192 tokens" in page.facts.text()
    assert results[-1].plan
    needed = (results[-1].plan.total_bytes + PROCESS_BYTES) / GIB
    assert page.verdict.headline.text() == f"Fits: {needed:.1f} of 10.0 GiB of free RAM."
    tps, full_tps = results[-1].plan.predicted_tps, results[-1].plan.predicted_full_tps
    words = f"About {tps:.1f} tok/s in a short chat, {full_tps:.1f} tok/s when the context is full;"
    assert page.verdict.speed.text().startswith(words)
    assert "at most 93.1 tok/s" in page.verdict.speed.text()
    [section] = page.devices
    assert section.title.text() == "This computer's memory: 16.0 GiB"
    assert "KV cache, 8,192 cells: 180 MiB" in section.legend.accessibleName()
    assert page.origin.text() == "These sizes are estimated."


def test_speed_that_cannot_be_told_is_not_available(stage: Stage) -> None:
    unknown = replace(cpu(10 * GIB), bandwidth=None, bandwidth_source=None)
    stage.bench.hardware = machine(unknown)
    assert stage.open().verdict.speed.text().startswith("Speed: this machine is being measured")


def test_layers_are_offered_where_there_is_a_card(stage: Stage) -> None:
    page = stage.open()
    assert not page.controls.layers.isVisible()
    stage.bench.hardware = machine(cpu(10 * GIB), card(6 * GIB))
    stage.open()
    assert page.controls.layers.isVisible()
    assert page.controls.layers.text() == "as many as fit"
    assert page.controls.layers_remark.text() == "31 of 31 on the card"
    assert [section.title.text() for section in page.devices] == [
        "CUDA0, Test card: 8.0 GiB",
        "This computer's memory: 16.0 GiB",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"<!doctype html>", "web page"), (b"version https://git-lfs.github.com/spec/v1\n", "LFS")],
)
def test_file_that_is_no_model_shows_the_reason_and_no_load(
    stage: Stage, tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "thing.gguf"
    path.write_bytes(content)
    page = stage.open(str(path))
    assert words in page.verdict.headline.text()
    assert not page.load.isVisible()
    assert not page.controls.isVisible()
    stage.press(Qt.Key.Key_Return)
    assert stage.loads == []


def test_projector_shows_the_reason_and_no_load(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "chat.gguf"
    entry = raw.string_entry(b"general.architecture", b"clip")
    path.write_bytes(raw.header(0, 1) + entry)
    page = stage.open(str(path))
    assert "projector" in page.verdict.headline.text()
    assert not page.load.isVisible()


def test_model_that_llama_cpp_refuses_shows_the_reason_and_cannot_be_loaded(stage: Stage) -> None:
    reason = "SmolLM2.gguf cannot be loaded: unknown model architecture: 'nosucharch'."
    trying = stage.bench.runners["plan-dry-run"]
    trying.holds = True
    stage.bench.exact = lambda shape: Refused(reason)
    page = stage.open()
    assert page.load.isEnabled()  # as far as is known
    trying.go()
    settle()
    assert page.verdict.headline.text() == reason
    assert page.verdict.property("warns") is True
    assert page.load.isVisible() and not page.load.isEnabled()
    assert page.load.toolTip() == reason
    assert not page.devices[0].isVisible()
    assert page.controls.isVisible()  # perhaps another KV type does
    assert page.cancel.hasFocus()
    stage.press(Qt.Key.Key_Return, page)
    assert stage.loads == []


def test_nothing_can_be_loaded_before_it_is_known(stage: Stage) -> None:
    stage.bench.runners["plan-look"].holds = True
    page = stage.open()
    assert not page.load.isEnabled()
    stage.press(Qt.Key.Key_Return, page)
    assert stage.loads == []
    stage.bench.runners["plan-look"].go()
    assert page.load.isEnabled()


def test_answer_about_another_model_is_not_shown(stage: Stage) -> None:
    looking = stage.bench.runners["plan-look"]
    looking.holds = True
    stage.open(stage.bench.model("first"))
    page = stage.open(stage.bench.model("second"))
    stage.plans.planned.emit("first", PlanResult("first", stage.plans._asked[1], problem="late"))  # type: ignore[index]
    assert page.verdict.headline.text() == "Looking at the file and at this machine's memory."


def test_load_has_the_focus_though_a_menu_was_open_when_the_answer_came(stage: Stage, qtbot: QtBot) -> None:
    looking = stage.bench.runners["plan-look"]
    looking.holds = True
    page = stage.open()
    assert stage.window.focusWidget() is page.cancel
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    settle()
    assert not page.cancel.hasFocus()
    looking.go()
    settle()
    assert stage.window.focusWidget() is page.load


# --- choosing -----------------------------------------------------------------------------------------


def test_context_is_priced_while_the_slider_moves(stage: Stage) -> None:
    page = stage.open()
    page.controls.slider.setFocus()
    for expected in (4096, 2048):
        stage.press(Qt.Key.Key_Left, page.controls.slider)
        assert page.controls.context.value() == expected
        kv_bytes = f"KV cache, {expected:,} cells: {expected * 180 // 8192} MiB"
        assert kv_bytes in page.devices[0].legend.accessibleName()
    page.load.click()
    assert stage.loads == [LoadSettings(n_ctx=2048)]


class LayoutCount(QObject):
    """How often a widget is laid out anew."""

    def __init__(self, *widgets: QWidget) -> None:
        super().__init__()
        self.n = 0
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        self.n += event.type() is QEvent.Type.LayoutRequest
        return False


def test_move_of_the_slider_makes_no_widgets_and_lays_no_legend_out(stage: Stage) -> None:
    stage.bench.hardware = machine(cpu(10 * GIB), card(6 * GIB))
    page = stage.open()
    stage.press(Qt.Key.Key_Left, page.controls.slider)
    widgets, layouts = page.findChildren(QWidget), LayoutCount(*page.devices)
    stage.bench.counted.clear()
    stage.press(Qt.Key.Key_Left, page.controls.slider)
    assert page.controls.context.value() == 2048
    assert page.findChildren(QWidget) == widgets
    assert layouts.n == 0
    assert len(stage.bench.counted) <= 2


def test_number_follows_the_slider_before_the_answer_is_there(stage: Stage) -> None:
    page = stage.open()
    stage.bench.runners["plan-count"].holds = True
    stage.press(Qt.Key.Key_Left, page.controls.slider)
    assert page.controls.context.value() == 4096
    page.controls.context.chosen.emit(1024)
    assert page.controls.slider.value() == context_stops(8192).index(1024)


@pytest.mark.parametrize(("free", "loads"), [(10 * GIB, [LoadSettings(n_ctx=5000)]), (450 * MIB, [])])
def test_enter_right_after_a_choice_waits_for_its_answer(
    stage: Stage, free: int, loads: list[LoadSettings]
) -> None:
    stage.bench.shrink_ram(free)
    page = stage.open()
    counting = stage.bench.runners["plan-count"]
    counting.holds = True
    page.controls.context.chosen.emit(5000)
    stage.press(Qt.Key.Key_Return, page)
    assert stage.loads == []
    counting.go()
    assert stage.loads == loads


def test_exact_context_can_be_typed(stage: Stage) -> None:
    page = stage.open()
    box = page.controls.context
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(box, "5000")
    stage.press(Qt.Key.Key_Return, box)
    assert stage.loads == [LoadSettings(n_ctx=5000)]
    assert page.controls.slider.value() == context_stops(8192).index(4096)


def test_context_that_was_not_touched_stays_automatic(stage: Stage) -> None:
    stage.open().load.click()
    assert stage.loads == [LoadSettings()]


def test_smaller_kv_type_needs_less(stage: Stage) -> None:
    page = stage.open()
    page.controls.kv_type.setFocus()
    stage.press(Qt.Key.Key_Down, page.controls.kv_type)
    assert "KV cache, 8,192 cells: 96 MiB" in page.devices[0].legend.accessibleName()
    page.load.click()
    assert stage.loads == [LoadSettings(kv_type=KVType.Q8_0)]


def test_cells_are_told_as_they_will_be(stage: Stage) -> None:
    page = stage.open(how=LoadSettings(n_ctx=300))
    assert page.controls.context.value() == 300
    assert "KV cache, 512 cells: " in page.devices[0].legend.accessibleName()


@pytest.mark.parametrize(
    ("n_ctx_train", "most", "words"),
    [
        (8192, 8192, "8,192 tokens, which the model was trained for"),
        (0, UNKNOWN_N_CTX_TRAIN, "4,096 tokens: the file does not say how many the model was trained for"),
        (
            2**31,
            UNKNOWN_N_CTX_TRAIN,
            "4,096 tokens: the file does not say how many the model was trained for",
        ),
    ],
)
def test_trained_context_is_offered_and_a_guess_is_told_as_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, n_ctx_train: int, most: int, words: str
) -> None:
    sources = stage.plans._sources
    facts = replace(sources.read_facts(Path(stage.bench.model())), n_ctx_train=n_ctx_train or None)
    monkeypatch.setattr(stage.plans, "_sources", replace(sources, read_facts=lambda _path: facts))
    page = stage.open()
    assert page.controls.context.maximum() == most
    assert page.controls.context.toolTip() == f"Up to {words}"
    assert page.controls.slider.toolTip() == f"Up to {words}"
    assert ("trained for" in page.facts.text()) is (most == n_ctx_train)


def test_a_stored_context_is_cut_to_what_is_taken_where_the_file_says_none(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = stage.plans._sources
    facts = replace(sources.read_facts(Path(stage.bench.model())), n_ctx_train=None)
    monkeypatch.setattr(stage.plans, "_sources", replace(sources, read_facts=lambda _path: facts))
    page = stage.open(how=LoadSettings(n_ctx=8192))
    assert page.controls.context.value() == UNKNOWN_N_CTX_TRAIN
    assert page.load.isEnabled()


def test_stops_are_powers_of_two_and_the_trained_context() -> None:
    assert context_stops(1000) == (256, 512, 1000)
    assert context_stops(1024) == (256, 512, 1024)
    assert context_stops(100) == (100,)
    assert context_stops(2**31 - 1)[-2:] == (2**30, 2**31 - 1)


# --- what does not fit --------------------------------------------------------------------------------


def test_what_does_not_fit_cannot_be_loaded_and_what_fits_is_one_press_away(stage: Stage) -> None:
    stage.bench.shrink_ram(900 * MIB)
    page = stage.open()
    assert page.verdict.headline.text().startswith("Does not fit")
    assert page.verdict.property("warns") is True
    assert not page.load.isEnabled()
    stage.press(Qt.Key.Key_Return, page)
    assert stage.loads == []
    texts = [button.text() for button in page.verdict.suggestions]
    assert texts[0] == "Use q8_0"
    assert texts[1].startswith("Use ") and texts[1].endswith(" tokens")
    page.verdict.suggestions[0].setFocus()
    stage.press(Qt.Key.Key_Return)
    assert page.load.isEnabled()
    assert page.load.hasFocus()
    assert page.verdict.suggestions == []
    stage.press(Qt.Key.Key_Return)
    assert stage.loads == [LoadSettings(kv_type=KVType.Q8_0)]


def test_context_that_fits_is_taken_over(stage: Stage) -> None:
    stage.bench.shrink_ram(900 * MIB)
    page = stage.open()
    page.verdict.suggestions[1].click()
    assert page.load.isEnabled()
    assert page.verdict.property("warns") is False
    page.load.click()
    assert stage.loads[0].n_ctx == page.controls.context.value() < 8192


def test_insisting_is_offered_only_where_it_cannot_make_the_machine_swap(stage: Stage) -> None:
    stage.bench.hardware = machine(cpu(10 * GIB), card(300 * MIB, 2 * GIB))
    page = stage.open(how=LoadSettings(n_gpu_layers=31))
    assert page.load.text() == "Load anyway"
    assert page.load.isEnabled()
    assert page.cancel.hasFocus()
    assert "Use as many layers as fit" in [button.text() for button in page.verdict.suggestions]
    stage.bench.hardware = machine(cpu(300 * MIB), card(300 * MIB, 2 * GIB))
    stage.open(how=LoadSettings(n_gpu_layers=31))
    assert page.load.text() == "Load"
    assert not page.load.isEnabled()


# --- keys ---------------------------------------------------------------------------------------------


def test_enter_loads_and_escape_leaves(stage: Stage) -> None:
    page = stage.open()
    assert page.load.hasFocus()
    stage.press(Qt.Key.Key_Return)
    assert len(stage.loads) == 1
    stage.press(Qt.Key.Key_Escape, page.controls.slider)
    assert len(stage.closed) == 1


def test_enter_on_cancel_cancels(stage: Stage) -> None:
    page = stage.open()
    page.cancel.setFocus()
    stage.press(Qt.Key.Key_Return)
    assert (stage.loads, len(stage.closed)) == ([], 1)


def test_every_control_has_a_name_and_can_be_reached(stage: Stage) -> None:
    stage.bench.hardware = machine(cpu(10 * GIB), card(300 * MIB, 2 * GIB))
    page = stage.open(how=LoadSettings(n_gpu_layers=31))
    kinds = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox)
    controls = [
        widget
        for widget in page.findChildren(QWidget)
        if isinstance(widget, kinds) and widget.isVisible() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    assert len(controls) >= 7
    for control in controls:
        text = control.text() if isinstance(control, QAbstractButton) else ""
        assert control.accessibleName() or text, control


# --- words --------------------------------------------------------------------------------------------


def test_numbers_of_parameters() -> None:
    assert [parameters_in_words(n) for n in (999, 134_515_008, 7_615_616_512)] == ["999", "135 M", "7.6 B"]


def test_experts_are_told_with_what_one_token_reads(stage: Stage) -> None:
    stage.open()
    facts = stage.plans.facts_of(stage.bench.model("SmolLM2"))
    assert facts is not None
    mixed = replace(facts, n_params=30_500_000_000, n_active_params=3_300_000_000, n_experts=128)
    assert "30.5 B parameters, 3.3 B active" in facts_in_words(mixed)
