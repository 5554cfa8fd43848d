"""The page of endurance runs: choose, run, watch the curves, take the results away.

Shows what an `EnduranceMeasurement` says after each of its changes and passes wishes on to it. pyqtgraph
and numpy are imported when the page is first shown. Knows nothing about how anything is measured or
how a report is written.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.services.endurance import EnduranceMeasurement
from app.services.endurance_trace import Trace
from app.views.endurance_choices import EnduranceChoicesForm
from app.views.endurance_export_row import EnduranceExportRow
from app.views.endurance_table import EnduranceTable
from app.views.tokens import UNIT
from engine.protocol import EnduranceRun, ModelInfo

if TYPE_CHECKING:
    from app.views.endurance_plot import EndurancePlot


class EndurancePage(QScrollArea):
    """One page of the window."""

    closed = Signal()
    """The user is done here; nothing is measured any more."""

    def __init__(
        self,
        measurement: EnduranceMeasurement,
        model: Callable[[], ModelInfo | None],
        obstacle: Callable[[], str] = lambda: "",
        parent: QWidget | None = None,
    ) -> None:
        """`model` says which one is loaded now; `obstacle` why nothing can be measured now, or nothing.

        `refresh` has to be called when the obstacle is another.
        """
        super().__init__(parent)
        self._measurement = measurement
        self._model = model
        self._obstacle = obstacle
        self._names = {
            EnduranceRun.ENDLESS: self.tr("endless"),
            EnduranceRun.EXACT: self.tr("exact"),
            EnduranceRun.WINDOW: self.tr("no sinks"),
        }
        self.plot: EndurancePlot | None = None
        self.close_button = QPushButton(self.tr("Close"))
        self.form = EnduranceChoicesForm()
        self.run = QPushButton()
        self.progress_text = QLabel()
        self.bar = QProgressBar()
        self.disturbed = QLabel(
            self.tr("A chat's reply is being written too: speed and memory are not what they would be alone.")
        )
        self.problem = QLabel()
        self.hint = QLabel()
        self.table = EnduranceTable(self._names)
        self.exports = EnduranceExportRow(self._draw)
        self._arrange()
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Show what the measurement says now."""
        measurement, info = self._measurement, self._model()
        running = measurement.current is not None
        self.form.show_model(info)
        self.form.setEnabled(not running)
        self._show_run_button()
        self._show_progress()
        self.disturbed.setVisible(measurement.disturbed)
        self._show_problem()
        self._show_hint(info)
        if running and self.plot is None:
            self._make_plot()
        if self.plot:
            self.plot.show_traces(measurement.traces)
            self.plot.setVisible(bool(measurement.traces))
        self.table.show_reports(measurement.reports)
        self.table.setVisible(bool(measurement.reports))
        self.exports.offer(measurement.reports, has_curves=bool(measurement.traces))

    def showEvent(self, event: QShowEvent) -> None:
        """Have pyqtgraph imported meanwhile: that takes half a second, too long to stand still for."""
        super().showEvent(event)
        self.refresh()
        threading.Thread(target=importlib.import_module, args=("pyqtgraph",), name="import-plots").start()

    # --- showing ----------------------------------------------------------------------------------

    def _show_run_button(self) -> None:
        measurement = self._measurement
        running = measurement.current is not None
        # The same button for both, so that the keyboard's focus stays where it is.
        self.run.setText(self.tr("Stop") if running else self.tr("Run"))
        self.run.setAccessibleName(self.tr("Stop the runs") if running else self.tr("Start the runs"))
        can_run = self._model() is not None and bool(self.form.choices().runs) and not self._obstacle()
        self.run.setEnabled(running or can_run)
        if self.run.property("stop") is not running:
            self.run.setProperty("stop", running)
            self.run.style().polish(self.run)

    def _show_progress(self) -> None:
        measurement = self._measurement
        done = measurement.tokens_done
        fraction = done[0] / max(done[1], 1) if done else measurement.loaded_fraction or 0.0
        self.bar.setValue(round(fraction * 1000))
        self.bar.setVisible(measurement.current is not None)
        self.progress_text.setText(self._progress())

    def _progress(self) -> str:
        measurement = self._measurement
        if measurement.current is None:
            return "\n".join(filter(None, (self._obstacle(), *map(self._stopped, measurement.stopped))))
        name = self._names[measurement.current.run]
        number, of = measurement.position
        what = name if of == 1 else self.tr("{0}, run {1} of {2}").format(name, number, of)
        done = measurement.tokens_done
        if measurement.stopping:
            return self.tr("{0}: stopping").format(what)
        if done is None:
            return self.tr("{0}: loading the model").format(what)
        text = self.tr("{0}: {1} of {2} tokens").format(what, f"{done[0]:,}", f"{done[1]:,}")
        left = measurement.seconds_left
        return text if left is None else self.tr("{0}, {1} left").format(text, self._duration(left))

    def _stopped(self, trace: Trace) -> str:
        text = self.tr("{0}: stopped after {1} of {2} tokens")
        return text.format(self._names[trace.run], f"{trace.n_done:,}", f"{trace.n_total:,}")

    def _duration(self, seconds: float) -> str:
        minutes, rest = divmod(max(0, round(seconds)), 60)
        if not minutes:
            return self.tr("{0} s").format(rest)
        return self.tr("{0} min {1} s").format(minutes, rest) if minutes < 60 else self._hours(minutes)

    def _hours(self, minutes: int) -> str:
        return self.tr("{0} h {1} min").format(minutes // 60, minutes % 60)

    def _show_problem(self) -> None:
        problem = self._measurement.problem
        self.problem.setText(problem.message if problem else "")
        self.problem.setToolTip(problem.detail if problem else "")
        self._problem_frame.setVisible(problem is not None)

    def _show_hint(self, info: ModelInfo | None) -> None:
        self.hint.setVisible(not self._measurement.traces)
        if self._measurement.current:
            self.hint.setText(self.tr("The curves begin as soon as the model is loaded."))
        elif info is None:
            self.hint.setText(self.tr("Choose a model first, at the top of the window."))
        else:
            self.hint.setText(
                self.tr(
                    "Choose what to measure and press Run: {0} reads the documentation of Python in a "
                    "process of its own, and the curves appear here."
                ).format(info.name)
            )

    def _make_plot(self) -> None:
        from app.views.endurance_plot import EndurancePlot  # ready, or nearly: see showEvent

        self.plot = EndurancePlot(self._names)
        self._column.insertWidget(self._column.indexOf(self.hint) + 1, self.plot)

    def _draw(self, form: str) -> bytes:
        assert self.plot is not None  # pictures are offered only once there are curves
        return self.plot.png() if form == "png" else self.plot.svg()

    # --- wishes -----------------------------------------------------------------------------------

    def _connect(self) -> None:
        self._measurement.changed.connect(self.refresh)
        self.form.changed.connect(self._show_run_button)
        self.run.clicked.connect(self._run_or_stop)
        self.close_button.clicked.connect(self._close)

    def _run_or_stop(self) -> None:
        if self._measurement.current:
            self._measurement.stop()
        else:
            self._measurement.start(self.form.choices())

    def _close(self) -> None:
        self._measurement.close()
        self.closed.emit()

    # --- where things stand -----------------------------------------------------------------------

    def _arrange(self) -> None:
        inner = QWidget()
        self._column = QVBoxLayout(inner)
        self._column.setContentsMargins(UNIT * 3, UNIT * 2, UNIT * 3, UNIT * 2)
        self._column.setSpacing(UNIT)
        self._column.addLayout(self._head())
        self._column.addSpacing(UNIT)
        self._column.addWidget(self.form)
        self._column.addSpacing(UNIT)
        self._column.addLayout(self._run_row())
        below = (self.bar, self.disturbed, self._framed_problem(), self.hint, self.table, self.exports)
        for widget in below:
            self._column.addWidget(widget)
        self._column.addStretch(1)
        self._dress()
        self.setWidget(inner)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        inner.setAutoFillBackground(False)

    def _head(self) -> QBoxLayout:
        title = QLabel(self.tr("Endurance"))
        title.setObjectName("emptyTitle")
        sentence = QLabel(
            self.tr(
                "Streams a long text through the model and shows whether its quality and speed hold "
                "when the cache is full."
            )
        )
        sentence.setProperty("muted", True)
        sentence.setWordWrap(True)
        texts = QVBoxLayout()
        texts.setSpacing(UNIT // 2)
        texts.addWidget(title)
        texts.addWidget(sentence)
        head = QHBoxLayout()
        head.addLayout(texts, 1)
        head.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        return head

    def _run_row(self) -> QBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(UNIT)
        row.addWidget(self.run)
        row.addWidget(self.progress_text, 1)
        return row

    def _framed_problem(self) -> QFrame:
        self._problem_frame = QFrame()
        self._problem_frame.setObjectName("banner")  # dressed like one
        row = QHBoxLayout(self._problem_frame)
        row.setContentsMargins(UNIT * 3 // 2, UNIT, UNIT, UNIT)
        row.addWidget(self.problem)
        return self._problem_frame

    def _dress(self) -> None:
        self.setAccessibleName(self.tr("Endurance"))
        self.run.setObjectName("send")  # dressed like it
        self.close_button.setObjectName("newChat")
        self.close_button.setAccessibleName(self.tr("End the runs and go back to the chat"))
        self.close_button.setToolTip(self.tr("End the runs and go back to the chat"))
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("How much of this run is done"))
        for label in (self.progress_text, self.disturbed, self.hint):
            label.setProperty("muted", True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
        self.problem.setTextFormat(Qt.TextFormat.PlainText)
        self.problem.setWordWrap(True)
