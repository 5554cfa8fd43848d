"""The page of benchmarks: choose, run, watch the bars, compare with what was measured before.

Shows what `Benchmarks` and `BenchResults` say after each of their changes and passes wishes on to them.
pyqtgraph and numpy are imported when the page is first shown. Knows nothing about how anything is measured
or how a report is written.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.data.bench_store import StoredResult, StoredRun
from app.services.bench_results import BenchResults
from app.services.benchmarks import Benchmarks
from app.views import number_format
from app.views.announcing import announce
from app.views.bench_choices_form import BenchChoicesForm, Model
from app.views.bench_compared import compared
from app.views.bench_comparison import BenchComparison
from app.views.bench_live import BenchLive
from app.views.bench_live_rows import live_rows
from app.views.bench_results_view import BenchResultsView
from app.views.leading_label import LeadingLabel
from app.views.page_column import page_column
from app.views.question_line import QuestionLine
from app.views.settings_row import muted_label
from app.views.theme import set_style
from app.views.tokens import UNIT
from engine.protocol import BenchProgress

_WIDEST = UNIT * 120


class BenchPage(QScrollArea):
    """One page of the window."""

    closed = Signal()
    """The user is done here; what is measured goes on."""

    def __init__(
        self,
        benchmarks: Benchmarks,
        results: BenchResults,
        models: Callable[[], Sequence[Model]],
        loaded: Callable[[], str | None],
        parent: QWidget | None = None,
    ) -> None:
        """`models`: all that could be measured, by path and name; `loaded`: the path of the chat's."""
        super().__init__(parent)
        self._benchmarks = benchmarks
        self._results = results
        self._models = models
        self._loaded = loaded
        self._was_running = False
        self.close_button = QPushButton(self.tr("Close"))
        self.form = BenchChoicesForm()
        self.run = QPushButton()
        self.progress_text = muted_label()
        self.bar = QProgressBar()
        self.question, self.problem = QuestionLine(), QuestionLine()
        self.live = BenchLive()
        self.hint = muted_label(
            self.tr(
                "Nothing was measured yet. Choose a model and press Run: it is measured in a process of its "
                "own, and the results are kept here, to compare and to export."
            )
        )
        self.stored = BenchResultsView(results)
        self.comparison = BenchComparison()
        self._arrange()
        self._dress()
        self._connect()
        self.refresh()

    def show_models(self) -> None:
        """Other models can be measured, or another one is loaded."""
        self.form.offer(self._models(), self._loaded())

    def refresh(self) -> None:
        """Show what the service says now."""
        running = self._benchmarks.running
        self.form.setEnabled(not running)
        self._show_run_button()
        self.progress_text.setText(self._progress())
        self._show_bar()
        self.live.show_rows(live_rows(self._benchmarks.records, self._benchmarks.progress) if running else ())
        self.live.setVisible(running and bool(self.live.rows))
        self._show_questions()
        self.hint.setVisible(not running and not self._results.runs)
        if self._was_running and not running:
            self._show_newest()
        self._was_running = running

    def showEvent(self, event: QShowEvent) -> None:
        """Have pyqtgraph imported meanwhile, and see what another Weir has measured."""
        super().showEvent(event)
        threading.Thread(target=importlib.import_module, args=("pyqtgraph",), name="import-plots").start()
        self._results.refresh()
        self.show_models()

    # --- showing ----------------------------------------------------------------------------------

    def _show_run_button(self) -> None:
        running = self._benchmarks.running
        # The same button for both, so that the keyboard's focus stays where it is.
        self.run.setText(self.tr("Stop") if running else self.tr("Run"))
        self.run.setAccessibleName(
            self.tr("Stop the benchmark") if running else self.tr("Start the benchmark")
        )
        self.run.setEnabled(running or not self.form.obstacle())
        set_style(self.run, "stop", running)

    def _show_bar(self) -> None:
        done = self._benchmarks.progress
        fraction = done.n_done / max(done.n_total, 1) if done else self._benchmarks.loaded_fraction or 0.0
        self.bar.setValue(round(fraction * 1000))
        self.bar.setVisible(self._benchmarks.current is not None)

    def _progress(self) -> str:
        benchmarks = self._benchmarks
        if not benchmarks.running:
            return ""
        if benchmarks.waits_for_others:
            return self.tr("It begins as soon as the reply is written or the model is loaded.")
        number, of = benchmarks.position
        name = self._name(benchmarks.current.path if benchmarks.current else "")
        what = name if of == 1 else self.tr("{0}, model {1} of {2}").format(name, number, of)
        if benchmarks.stopping:
            return self.tr("{0}: stopping").format(what)
        if benchmarks.asks_to_unload:
            return self.tr("{0}: waiting for your answer").format(what)
        if benchmarks.progress is None:
            return self.tr("{0}: loading the model").format(what)
        return self._measured(what, benchmarks.progress)

    def _measured(self, what: str, progress: BenchProgress) -> str:
        text = self.tr("{0}: {1} of {2} runs").format(what, f"{progress.n_done:,}", f"{progress.n_total:,}")
        left = progress.seconds_left
        return text if left is None else self.tr("{0}, {1} left").format(text, number_format.duration(left))

    def _name(self, path: str) -> str:
        return dict(self._models()).get(path, path.rpartition("/")[2].removesuffix(".gguf"))

    def _show_questions(self) -> None:
        benchmarks = self._benchmarks
        if benchmarks.asks_to_unload and self.question.isHidden():
            sentence = self.tr(
                "There is not enough memory for this benchmark beside the chat's model. It can be unloaded "
                "for as long as the benchmark takes; the chats are safe."
            )
            answers = [
                (self.tr("Unload it and measure"), benchmarks.unload),
                (self.tr("Do not measure"), benchmarks.stop),
            ]
            self.question.ask(sentence, answers)
        elif not benchmarks.asks_to_unload:
            self.question.hide()
        told = "\n".join(problem.message for problem in benchmarks.problems)
        if told and told != self.problem.text.text():
            self.problem.tell(told)
            self.problem.text.setToolTip("\n".join(problem.detail for problem in benchmarks.problems))
        elif not told:
            self.problem.hide()
            self.problem.text.clear()

    def _show_newest(self) -> None:
        """Compare what has just been measured."""
        n_new = len(self._benchmarks.records)
        if n_new and self._results.runs:
            newest: StoredRun = self._results.runs[0]
            self.stored.choose(newest.results)
            announce(self, self.tr("The benchmark is done: {0} results.").format(n_new))

    def _compare(self, chosen: Sequence[StoredResult]) -> None:
        self.comparison.show_results(compared(chosen, self._results.runs))

    # --- wishes -----------------------------------------------------------------------------------

    def _connect(self) -> None:
        self._benchmarks.changed.connect(self.refresh)
        self._results.changed.connect(lambda _runs: self.refresh())
        self._results.failed.connect(self.problem.tell)
        self.stored.chosen_changed.connect(self._compare)
        self.form.changed.connect(self._show_run_button)
        self.run.clicked.connect(self._run_or_stop)
        self.close_button.clicked.connect(self.closed)
        self.question.answered.connect(self.run.setFocus)

    def _run_or_stop(self) -> None:
        if self._benchmarks.running:
            self._benchmarks.stop()
        else:
            self._benchmarks.start(self.form.choices())

    # --- the widget -------------------------------------------------------------------------------

    def _arrange(self) -> None:
        column = QVBoxLayout()
        column.setContentsMargins(UNIT * 3, UNIT * 2, UNIT * 3, UNIT * 2)
        column.setSpacing(UNIT)
        column.addLayout(self._head())
        column.addSpacing(UNIT)
        column.addWidget(self.form)
        row = QHBoxLayout()
        row.setSpacing(UNIT)
        row.addWidget(self.run)
        row.addWidget(self.progress_text, 1)
        column.addLayout(row)
        for widget in (self.bar, self.question, self.problem, self.live, self.hint):
            column.addWidget(widget)
        column.addSpacing(UNIT * 2)
        column.addWidget(self.stored)
        column.addSpacing(UNIT)
        column.addWidget(self.comparison)
        column.addStretch(1)
        inner = page_column(column, _WIDEST)
        self.setWidget(inner)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        inner.setAutoFillBackground(False)

    def _head(self) -> QHBoxLayout:
        title = LeadingLabel(self.tr("Benchmarks"))
        title.setObjectName("emptyTitle")
        sentence = muted_label(
            self.tr(
                "How fast models are on this machine, with which settings, and against what its memory "
                "allows. Measured as llama-bench does."
            )
        )
        texts = QVBoxLayout()
        texts.setSpacing(UNIT // 2)
        texts.addWidget(title)
        texts.addWidget(sentence)
        head = QHBoxLayout()
        head.addLayout(texts, 1)
        head.addWidget(self.close_button)
        return head

    def _dress(self) -> None:
        self.setAccessibleName(self.tr("Benchmarks"))
        self.run.setObjectName("send")  # dressed like it
        self.close_button.setObjectName("formButton")
        self.close_button.setAccessibleName(self.tr("Go back to the chat; a benchmark goes on"))
        self.close_button.setToolTip(self.tr("Go back to the chat; a benchmark goes on"))
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("How much of this model is measured"))
        self.setFocusProxy(self.run)
