"""Before a model is quantized: which kind, what it is now and what it will be, and whether there is room.

`Prospects` go in, the wish to begin comes out. Promises: nothing can be begun whose size is not in sight,
that has no room, or would replace a file; Escape leaves. Knows nothing about how it is done.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.services.quantize_prospects import Prospect, Prospects
from app.views import number_format
from app.views.announcing import announce
from app.views.leading_label import LeadingLabel
from app.views.library_words import verdict_in_words
from app.views.settings_controls import ChoiceBox
from app.views.settings_row import muted_label
from app.views.tokens import UNIT
from engine.protocol import DEFAULT_KIND, QuantKind


class QuantizeSheet(QFrame):
    """Hidden until somebody wants it."""

    start_requested = Signal(object, object)
    """The `QuantKind` that was chosen, and its `Prospect`."""

    closed = Signal()
    """It is hidden again: the focus may go back."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._prospects: Prospects | None = None
        self.setObjectName("planVerdict")  # dressed like it
        self.title = LeadingLabel()
        self.title.setProperty("strong", True)
        self.sentence = muted_label(
            self.tr(
                "Makes a smaller file of the same model: it needs less memory and answers faster, a little "
                "less exactly. The model itself stays as it is."
            )
        )
        self.kind = ChoiceBox(())
        self.kind.setAccessibleName(self.tr("Quantization of the new file"))
        self.kind.setPlaceholderText(self.tr("Looking at the file and at this machine"))
        self.figures: dict[str, tuple[LeadingLabel, LeadingLabel]] = {}
        self.problem = muted_label()
        self.problem.setProperty("warns", True)
        self.close_button = self._button(self.tr("Close"), self.leave)
        self.start = self._button(self.tr("Quantize"), self._start)
        self.start.setObjectName("send")
        self._table = QWidget()
        self._arrange()
        self.kind.currentIndexChanged.connect(lambda _index: self._show_kind())
        self.hide()

    def ask(self, name: str) -> None:
        """Show the sheet for the model called `name`, until its `Prospects` are there."""
        self._prospects = None
        self.title.setText(self.tr("Quantize {0}").format(name))
        self.setAccessibleName(self.title.text())
        self.kind.offer(())
        self._show_problem("")
        self._table.hide()
        self.start.setEnabled(False)
        self.show()
        self.close_button.setFocus()

    def show_prospects(self, prospects: Prospects) -> None:
        """Offer what can be made."""
        if self.isHidden():
            return
        self._prospects = prospects
        kinds = [kind for kind, _ in prospects.kinds]
        self.kind.offer([(_kind_in_words(kind), kind) for kind in kinds])
        if kinds:
            self.kind.show_value(DEFAULT_KIND if DEFAULT_KIND in kinds else kinds[0])
            self.kind.setFocus()
        self._table.setVisible(bool(kinds))
        self._show_kind()

    def leave(self) -> None:
        """Hide it."""
        self.hide()
        self.closed.emit()

    def event(self, event: QEvent) -> bool:
        """Escape leaves the sheet."""
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            if event.type() is QEvent.Type.KeyPress:
                self.leave()
            event.accept()
            return True
        return super().event(event)

    # --- showing ----------------------------------------------------------------------------------

    def _chosen(self) -> tuple[QuantKind, Prospect] | None:
        index = self.kind.currentIndex()
        kinds = self._prospects.kinds if self._prospects else ()
        return kinds[index] if 0 <= index < len(kinds) else None

    def _show_kind(self) -> None:
        chosen, prospects = self._chosen(), self._prospects
        self.start.setEnabled(chosen is not None and chosen[1].can_be_made)
        if chosen is None or prospects is None or prospects.before is None:
            self._show_problem(prospects.problem if prospects else "")
            return
        for name, text in _figures(prospects.before).items():
            self.figures[name][0].setText(text)
        for name, text in _figures(chosen[1], is_expected=True).items():
            self.figures[name][1].setText(text)
        free = chosen[1].free_bytes
        for label, n_bytes in zip(self.figures["disk"], (free + chosen[1].file_bytes, free), strict=True):
            label.setText(number_format.size(max(0, n_bytes)))
        self._show_problem(self._obstacle(chosen[1]))

    def _obstacle(self, prospect: Prospect) -> str:
        name = prospect.target.name
        if prospect.is_there:
            return self.tr("{0} is there already: delete it first, or choose another kind.").format(name)
        if prospect.missing_bytes > 0:
            words = self.tr("There is no room: {0} are missing on the disk, of which 500 MB stay free.")
            return words.format(number_format.size(prospect.missing_bytes))
        return ""

    def _show_problem(self, sentence: str) -> None:
        if sentence and sentence != self.problem.text():
            announce(self, sentence)
        self.problem.setText(sentence)
        self.problem.setVisible(bool(sentence))

    def _start(self) -> None:
        if chosen := self._chosen():
            self.leave()
            self.start_requested.emit(*chosen)

    # --- the widget -------------------------------------------------------------------------------

    def _button(self, words: str, act: Callable[[], None]) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName("formButton")
        button.clicked.connect(act)
        return button

    def _fill_table(self) -> None:
        grid = QGridLayout(self._table)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(UNIT * 3)
        grid.setVerticalSpacing(UNIT // 2)
        for column, words in enumerate((self.tr("Now"), self.tr("Then")), start=1):
            grid.addWidget(muted_label(words), 0, column)
        rows = (
            ("file", self.tr("File")),
            ("memory", self.tr("Memory")),
            ("speed", self.tr("Speed")),
            ("fits", self.tr("Fits")),
            ("disk", self.tr("Free on the disk")),
        )
        for row, (name, words) in enumerate(rows, start=1):
            self.figures[name] = LeadingLabel(), LeadingLabel()
            grid.addWidget(muted_label(words), row, 0)
            for column, label in enumerate(self.figures[name], start=1):
                grid.addWidget(label, row, column)
        grid.setColumnStretch(3, 1)

    def _arrange(self) -> None:
        self._fill_table()
        foot = QHBoxLayout()
        foot.setSpacing(UNIT)
        foot.addStretch(1)
        foot.addWidget(self.close_button)
        foot.addWidget(self.start)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT * 3 // 2, UNIT, UNIT * 3 // 2, UNIT)
        column.setSpacing(UNIT)
        for part in (self.title, self.sentence, self.kind, self._table, self.problem):
            column.addWidget(part)
        column.addLayout(foot)


def _figures(prospect: Prospect, *, is_expected: bool = False) -> dict[str, str]:
    about = "\N{ALMOST EQUAL TO} " if is_expected else ""
    tps = prospect.predicted_tps
    return {
        "file": about + number_format.size(prospect.file_bytes),
        "memory": number_format.size(prospect.memory_bytes),
        "speed": number_format.rate(tps) if tps is None else f"\N{ALMOST EQUAL TO} {number_format.rate(tps)}",
        "fits": verdict_in_words(prospect.verdict) if prospect.verdict else number_format.NOT_AVAILABLE,
    }


def _kind_in_words(kind: QuantKind) -> str:
    words = {
        QuantKind.Q8_0: _tr("nearly as exact as before"),
        QuantKind.Q6_K: _tr("very close"),
        QuantKind.Q5_K_M: _tr("close"),
        QuantKind.Q4_K_M: _tr("the usual choice"),
        QuantKind.Q4_K_S: _tr("a little smaller and coarser"),
        QuantKind.Q4_0: _tr("the coarsest, and fast on a processor"),
    }
    return f"{kind}, {words[kind]}"


def _tr(text: str) -> str:
    return QCoreApplication.translate("QuantizeSheet", text)
