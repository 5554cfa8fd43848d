"""The page of benchmarks: its controls, its bars, its results, what it compares and takes away."""

from __future__ import annotations

import csv
import io
import json
import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QApplication, QComboBox, QLineEdit
from pytestqt.qtbot import QtBot

from app.data.bench_record import BenchRecord
from app.views import bench_bars, bench_words
from app.views.bench_compared import Compared
from app.views.bench_numbers import NumbersField
from app.views.bench_page import BenchPage
from app.views.bench_table import BenchTable
from app.views.theme import apply_theme
from app.views.tokens import DARK, LIGHT
from engine.protocol import BenchKind, FlashAttention, KVType, LoadProgress
from tests.app.bench_stage import FIRST, SECOND, BenchStage, prompt_record, record
from tests.app.conftest import settle


class Stand(BenchStage):
    """The page over its services, with hands on both."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.path = self.machine.model("tiny")
        self.other = self.machine.model("other")
        models = [(self.path, "Tiny"), (self.other, "Other")]
        self.page = BenchPage(self.service, self.results, lambda: models, lambda: self.path)
        self.page.resize(900, 800)

    def run(self) -> None:
        self.page.run.click()
        settle()

    def keep(self, *records: BenchRecord) -> None:
        """These are stored already, as the newest run."""
        for kept in records:
            self.store.add(SECOND, kept)
        self.results.refresh()
        settle()

    def compare(self) -> None:
        self.page.stored.choose(self.results.runs[0].results)
        settle()


@pytest.fixture
def stand(qtbot: QtBot, tmp_path: Path) -> Iterator[Stand]:
    stand = Stand(tmp_path)
    qtbot.addWidget(stand.page)
    stand.page.show()
    settle()
    yield stand
    stand.close()


# --- choosing and running -------------------------------------------------------------------------


def test_empty_page_says_what_to_do_first(stand: Stand) -> None:
    assert stand.page.hint.isVisible() and "press Run" in stand.page.hint.text()
    assert not stand.page.stored.isVisible() and not stand.page.comparison.isVisible()
    stand.keep(record())
    assert not stand.page.hint.isVisible() and stand.page.stored.isVisible()


def test_loaded_model_and_the_defaults_of_llama_bench_are_chosen_first(stand: Stand) -> None:
    stand.run()
    [command] = stand.commands()
    assert (command.path, command.repetitions) == (stand.path, 5)
    assert [(case.n_prompt, case.n_gen, case.n_batch) for case in command.cases] == [
        (512, 0, 2048),
        (0, 128, 2048),
    ]


def test_all_that_is_chosen_is_measured(stand: Stand) -> None:
    form = stand.page.form
    form.models.item(1).setCheckState(Qt.CheckState.Checked)
    for field, text in (
        (form.prompts, "16, 32"),
        (form.gens, "4"),
        (form.depths, "0,64"),
        (form.threads, "1"),
    ):
        field.setText(text)
    form.batches.setText("256")
    form.kv_types[KVType.Q8_0].setChecked(True)
    form.flash_attention.setCurrentIndex(3)
    form.repetitions.setValue(2)
    form.chat.setChecked(True)
    choices = form.choices()
    assert choices.paths == (stand.path, stand.other)
    assert (choices.prompts, choices.gens, choices.depths, choices.threads) == ((16, 32), (4,), (0, 64), (1,))
    assert choices.kv_types == (KVType.F16, KVType.Q8_0)
    assert choices.flash_attention == (FlashAttention.OFF, FlashAttention.ON)
    assert {case.kind for case in choices.cases()} == {
        BenchKind.PROMPT,
        BenchKind.GENERATION,
        BenchKind.CHAT,
    }
    assert form.told.text() == f"{2 * len(choices.cases())} cases, each measured 2 times"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("prompts", "many", "Prompt tokens: numbers with commas"),
        ("depths", "-1", "Depths: numbers with commas"),
        ("batches", "0", "n_batch"),
        ("depths", ",".join(map(str, range(300))), "at most 500"),
    ],
)
def test_what_cannot_be_measured_is_said_and_not_run(stand: Stand, name: str, text: str, says: str) -> None:
    getattr(stand.page.form, name).setText(text)
    assert says in stand.page.form.told.text()
    assert not stand.page.run.isEnabled()


def test_nothing_is_run_without_a_model_or_a_kv_type(stand: Stand) -> None:
    form = stand.page.form
    form.kv_types[KVType.F16].setChecked(False)
    assert not stand.page.run.isEnabled()
    form.kv_types[KVType.Q4_0].setChecked(True)
    assert stand.page.run.isEnabled()
    form.models.item(0).setCheckState(Qt.CheckState.Unchecked)
    assert not stand.page.run.isEnabled() and "Choose a model" in form.told.text()


def test_digits_of_other_scripts_and_arabic_commas_are_numbers() -> None:
    assert NumbersField("٥١٢، 64, 64 ").numbers() == (512, 64)
    assert not NumbersField("1.5").can_be_read
    assert not NumbersField("99999999999").can_be_read


def test_bars_grow_with_the_results_and_the_time_left_is_said(stand: Stand) -> None:
    page = stand.page
    stand.run()
    assert page.progress_text.text() == "Tiny: loading the model"
    stand.say(LoadProgress(0.25))
    assert page.bar.value() == 250
    stand.progress(3, 12, 75.0)
    assert page.progress_text.text() == "Tiny: 3 of 12 runs, 75 s left"
    assert page.bar.value() == 250 and not page.form.isEnabled()
    stand.measure(0.5, 1.0)
    stand.progress(6, 12, index=1)
    heading, done, now = page.live.rows
    assert (heading.name, heading.text) == ("Reading a prompt", "full width: 1,024 tok/s")
    assert (done.name, done.text, done.value) == ("pp512", "768 tok/s", 768.0)
    assert (done.low, done.high) == (512.0, 1024.0)
    assert (now.name, now.text, now.value) == ("tg128", "2 of 2", None)


def test_stop_keeps_the_focus_and_the_results_are_compared_at_once(stand: Stand) -> None:
    page = stand.page
    page.run.setFocus()
    stand.run()
    stand.progress(0)
    stand.measure(0.5)
    assert (page.run.text(), page.run.accessibleName()) == ("Stop", "Stop the benchmark")
    stand.run()
    assert page.progress_text.text() == "Tiny: stopping"
    stand.finish(aborted=True)
    assert page.run.hasFocus() and page.run.text() == "Run"
    assert [chosen.record.test for chosen in page.stored.models.chosen()] == ["pp512"]
    assert page.comparison.isVisible() and not page.live.isVisible()


def test_user_is_asked_before_the_chats_model_goes(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.plan_result.PlanResult.fits_beside", False)
    stand.load(stand.other)
    stand.run()
    question = stand.page.question
    assert question.isVisible() and "not enough memory" in question.text.text()
    assert stand.commands() == [] and stand.unloaded == 0
    assert question.buttons[-1].hasFocus(), "the answer that changes nothing"
    question.buttons[0].click()
    settle()
    assert stand.unloaded == 1 and len(stand.commands()) == 1
    assert not question.isVisible()


def test_it_is_said_what_a_benchmark_waits_for(stand: Stand) -> None:
    stand.is_busy = True
    stand.run()
    assert "as soon as the reply is written" in stand.page.progress_text.text()
    assert stand.page.run.text() == "Stop"


def test_problem_is_told_on_the_page(stand: Stand) -> None:
    stand.run()
    stand.engine.newest.die("GGML_ASSERT")
    settle()
    assert stand.page.problem.isVisible() and "tiny" in stand.page.problem.text.text()
    stand.run()
    assert not stand.page.problem.isVisible()


# --- stored results -------------------------------------------------------------------------------


def test_results_of_another_weir_are_seen_when_the_page_is_shown_again(stand: Stand) -> None:
    stand.page.hide()
    stand.store.add(FIRST, record())
    stand.page.show()
    settle()
    assert stand.page.stored.models.rowCount() == 1
    title = stand.page.stored.models.index(0, 0).data()
    assert title.endswith("Old processor · 8 GiB RAM")


def test_deleting_is_asked_about(stand: Stand) -> None:
    stand.keep(record(), prompt_record())
    stored = stand.page.stored
    assert not stored.delete.isEnabled()
    stored.tree.setCurrentIndex(stored.models.index(1, 0, stored.models.index(0, 0)))
    stored.delete.click()
    assert stored.question.text.text() == "Delete the result pp512 for good?"
    stored.question.buttons[1].click()
    assert len(stand.results.runs[0].results) == 2
    stand.compare()
    stored.delete.click()
    assert stored.question.text.text() == "Delete 2 results for good?"
    stored.question.buttons[0].click()
    settle()
    assert stand.results.runs == () and stand.page.hint.isVisible()
    assert not stand.page.comparison.isVisible()


def test_run_is_named_with_the_keyboard(stand: Stand) -> None:
    stand.keep(record())
    stored = stand.page.stored
    stored.tree.setCurrentIndex(stored.models.index(0, 0, stored.models.index(0, 0)))
    stored.name.click()
    editor = stored.tree.findChild(QLineEdit)
    assert editor is not None
    QTest.keyClicks(editor, "desktop")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    settle()
    assert stand.results.runs[0].label == "desktop"
    assert "desktop" in stored.models.index(0, 0).data()


def test_space_chooses_the_row_with_the_focus(stand: Stand) -> None:
    stand.keep(record(), prompt_record())
    stored = stand.page.stored
    run = stored.models.index(0, 0)
    stored.tree.setCurrentIndex(stored.models.index(1, bench_words.SPEED, run))
    QTest.keyClick(stored.tree, Qt.Key.Key_Space)
    assert [chosen.record.test for chosen in stored.models.chosen()] == ["pp512"]
    assert stand.page.comparison.table.columnCount() == 1
    stored.tree.setCurrentIndex(run)
    QTest.keyClick(stored.tree, Qt.Key.Key_Space)
    assert len(stored.models.chosen()) == 2
    QTest.keyClick(stored.tree, Qt.Key.Key_Space)
    assert stored.models.chosen() == []


def test_what_makes_a_result_doubtful_stands_in_its_row() -> None:
    doubtful = record(other_load_pct=34.4, throttled=True, power_source="battery", aborted=True)
    assert bench_words.notes(doubtful) == [
        "Other programs took 34 % of a core.",
        "The machine slowed itself down.",
        "On battery.",
        "Aborted: 2 measured.",
    ]
    assert bench_words.notes(record(other_load_pct=10.0, throttled=False, power_source="mains")) == []


def test_what_is_not_known_reads_as_such(qtbot: QtBot) -> None:
    table = BenchTable()
    qtbot.addWidget(table)
    table.show_results([Compared(record(samples_ns=(0,)))])
    model = table.model()
    rows = range(model.rowCount())
    cells = {model.headerData(row, Qt.Orientation.Vertical): model.index(row, 0).data() for row in rows}
    assert {cells[name] for name in ("Median", "Spread", "Expected", "Limit of the memory")} == {"n/a"}
    assert "First token" not in cells
    assert bench_words.spread(record(samples_ns=(10**9,))) == "n/a", "one repetition has no spread"


# --- comparing ------------------------------------------------------------------------------------


def decode(depth: int, rate: float, **facts: object) -> BenchRecord:
    """At `rate` tokens a second, of which the memory would allow 100."""
    ns = round(100 / rate * 1e9)
    known = {"bytes_per_token": 1e8, "bandwidth_gbs": 10.0, "predicted_ts": 80.0}
    return record(n_depth=depth, samples_ns=(ns, ns), **{**known, **facts})


def test_plots_show_bars_curves_and_the_memory(stand: Stand) -> None:
    records = [
        prompt_record(),
        decode(0, 60.0),
        decode(1024, 45.0),
        decode(0, 30.0, model_filename="/m/other.gguf"),
        record(test_kind="chat", n_prompt=64, decode_ts=40.0),
    ]
    chosen = [Compared(one) for one in records]
    [prompt] = bench_bars.prompt_bars(chosen)
    assert prompt.value == 512.0
    assert [bar.value for bar in bench_bars.decode_bars(chosen)] == pytest.approx([60, 45, 30, 40])
    [curve] = bench_bars.depth_curves(chosen)
    assert [depth for depth, _ in curve.points] == [0, 1024]
    assert [rate for _, rate in curve.points] == pytest.approx([60, 45])
    limits = bench_bars.limit_bars(chosen)
    assert [bar.value for bar in limits] == pytest.approx([60, 45, 30])
    assert limits[0].expected == pytest.approx(80.0)
    stand.keep(*records)
    stand.compare()
    plot = stand.page.comparison.plot
    assert plot is not None and len(plot.plots) == 4
    stand.page.stored.choose(stand.results.runs[0].results[:1])
    assert len(plot.plots) == 1


def test_bars_that_look_alike_are_told_apart() -> None:
    alike = [
        Compared(record(), "before"),
        Compared(record(), "after"),
        Compared(record(n_threads=1), "after"),
    ]
    names = bench_words.labels(alike)
    assert len(set(names)) == 3 and names[0].endswith("before")
    deep = [Compared(record(), "today"), Compared(record(n_depth=64), "today")]
    assert bench_words.labels(deep) == ["tg100", "tg100 @ d64"]


def test_many_results_are_exported_whole_though_not_all_are_shown(stand: Stand, tmp_path: Path) -> None:
    stand.keep(*[decode(depth, 50.0) for depth in range(20)])
    stand.compare()
    comparison = stand.page.comparison
    assert comparison.table.columnCount() == 12 and "12 of 20" in comparison.remark.text()
    comparison.exports.export("jsonl", str(tmp_path / "out.jsonl"))
    assert len((tmp_path / "out.jsonl").read_text("utf-8").splitlines()) == 20


def test_exports_hold_what_was_chosen_and_no_folder(stand: Stand, tmp_path: Path) -> None:
    evil = '=HYPERLINK("http://h","x")'
    stand.keep(decode(0, 50.0, model_name=evil, ttft_ms=math.nan), decode(64, 40.0))
    stand.compare()
    exports = stand.page.comparison.exports
    for form in exports.actions_of:
        exports.export(form, str(tmp_path / f"out.{form}"))
        assert exports.told.text() == f"Saved as {tmp_path / f'out.{form}'}."
    texts = {form: (tmp_path / f"out.{form}").read_text("utf-8") for form in ("csv", "json", "jsonl", "md")}
    assert not any("somebody" in text for text in texts.values())
    rows = json.loads(texts["json"])
    assert [row["n_depth"] for row in rows] == [0, 64] and rows[0]["ttft_ms"] is None
    table = list(csv.DictReader(io.StringIO(texts["csv"])))
    assert table[0]["model_name"] == "'" + evil and float(table[1]["avg_ts"]) == pytest.approx(40.0)
    assert texts["md"].count("\n|") >= 3
    plot = stand.page.comparison.plot
    assert plot is not None and QImage(str(tmp_path / "out.png")).width() == plot.view.width() * 2
    svg = ElementTree.parse(tmp_path / "out.svg").getroot()
    found = {(element.text or "").strip() for element in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"tg100", "tg100 @ d64", "Writing, tokens a second"} <= found


def test_export_that_fails_is_told_in_one_sentence(stand: Stand, tmp_path: Path) -> None:
    stand.keep(record())
    stand.compare()
    stand.page.comparison.exports.export("csv", str(tmp_path / "gone" / "out.csv"))
    assert "could not be written" in stand.page.comparison.exports.told.text()


def test_results_can_be_copied_as_markdown(stand: Stand) -> None:
    stand.keep(record())
    stand.compare()
    stand.page.comparison.exports.copy_button.click()
    assert "tg100" in QGuiApplication.clipboard().text()


# --- looks and keys -------------------------------------------------------------------------------


def test_plots_wear_the_colours_of_the_theme(stand: Stand, qapp: QApplication) -> None:
    apply_theme(qapp, "light")
    stand.keep(record(), decode(0, 50.0))
    stand.compare()
    plot = stand.page.comparison.plot
    assert plot is not None and plot.view.backgroundBrush().color().name() == LIGHT.surface
    apply_theme(qapp, "dark")
    settle()
    assert plot.view.backgroundBrush().color().name() == DARK.surface
    apply_theme(qapp, "light")
    settle()


def test_every_control_has_a_name(stand: Stand) -> None:
    stand.keep(record())
    stand.compare()
    controls = [
        widget
        for kind in (QAbstractButton, QComboBox, QLineEdit, QAbstractItemView)
        for widget in stand.page.findChildren(kind)
        if widget.isVisible() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    assert len(controls) > 15
    assert all(control.accessibleName() or getattr(control, "text", str)() for control in controls)


def test_page_has_room_in_a_narrow_window_and_stands_the_other_way_round(
    stand: Stand, qapp: QApplication
) -> None:
    stand.keep(record(), prompt_record())
    stand.compare()
    content = stand.page.widget()
    assert content is not None and content.minimumSizeHint().width() <= 460
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    settle()
    form = stand.page.form
    origin = QPoint(0, 0)
    assert form.prompts.mapTo(form, origin).x() > form.depths.mapTo(form, origin).x()
    assert form.prompts.alignment() & Qt.AlignmentFlag.AlignRight
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    settle()
