"""Quantizing on the page of installed models: a sheet before, a line while it runs, a word at the end.

An `InstalledModel` that somebody wants smaller goes in; the services are asked and told. Promises: what runs
is in sight whenever the page is. Knows nothing about the list.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.data.installed_model import InstalledModel
from app.services.quantize_prospects import Prospect, QuantizeProspects
from app.services.quantizing import QuantizeRun, Quantizing
from app.views import number_format
from app.views.import_line import QuantizeLine
from app.views.quantize_sheet import QuantizeSheet
from app.views.question_line import QuestionLine
from app.views.tokens import UNIT
from engine.protocol import QuantizeFinished, QuantKind


class QuantizePanel(QWidget):
    """As high as what it shows; tells on `line` what came of it."""

    load_requested = Signal(str)
    """The path of a model that was made, to be loaded."""

    closed = Signal()
    """The sheet is gone: the focus may go back."""

    def __init__(self, quantizing: Quantizing, prospects: QuantizeProspects, line: QuestionLine) -> None:
        super().__init__()
        self._quantizing = quantizing
        self._prospects = prospects
        self._line = line
        self._asked: InstalledModel | None = None
        self.sheet, self.progress = QuantizeSheet(), QuantizeLine()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self.sheet)
        column.addWidget(self.progress)
        self.hide()
        prospects.found.connect(self.sheet.show_prospects)
        self.sheet.start_requested.connect(self._start)
        self.sheet.closed.connect(self._on_closed)
        self.progress.cancel_requested.connect(quantizing.cancel)
        quantizing.changed.connect(self._show)
        quantizing.finished.connect(self._on_finished)
        quantizing.failed.connect(lambda _run, sentence: line.tell(sentence))

    def ask(self, model: InstalledModel) -> None:
        """Show what could be made of `model`."""
        if current := self._quantizing.current:
            words = self.tr("{0} is being quantized: wait until it is done, or cancel it.")
            self._line.tell(words.format(current.name))
        elif obstacle := self._quantizing.obstacle():
            self._line.tell(obstacle)
        else:
            self._asked = model
            self.show()
            self.sheet.ask(model.name)
            self._prospects.ask(model.path, model.name)

    def _start(self, kind: QuantKind, prospect: Prospect) -> None:
        if self._asked:
            self._quantizing.start(self._asked.path, self._asked.name, kind, prospect)

    def _on_closed(self) -> None:
        self._show()
        self.closed.emit()

    def _show(self) -> None:
        run, progress = self._quantizing.current, self._quantizing.progress
        self.progress.setVisible(run is not None)
        self.setVisible(run is not None or not self.sheet.isHidden())
        if run is None:
            return
        left = progress.seconds_left if progress else None
        self.progress.show_progress(
            run.name,
            run.command.kind,
            progress.fraction if progress else 0.0,
            "" if left is None else number_format.duration(left),
        )

    def _on_finished(self, _run: QuantizeRun, event: QuantizeFinished) -> None:
        sentence = self.tr("{0} is ready: {1}.").format(
            Path(event.path).stem, number_format.size(event.size_bytes)
        )
        if event.n_fallback:
            words = self.tr("The rows of {0} of its tensors do not fit this kind: they got a larger type.")
            sentence = f"{sentence} {words.format(event.n_fallback)}"
        self._line.ask(
            sentence,
            [
                (self.tr("Load it"), lambda: self.load_requested.emit(event.path)),
                (self.tr("Dismiss"), _nothing),
            ],
        )


def _nothing() -> None:
    """Nothing is to be done."""
