"""What an endurance run shall measure: tokens, window, sinks, runs, shift and KV type.

The loaded model's facts go in and bound the choices; `choices` reads them. Knows nothing about runs.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QHBoxLayout, QLabel, QSpinBox, QWidget

from app.services.endurance import EnduranceChoices
from app.views.tokens import UNIT
from engine.protocol import Endurance, EnduranceRun, KVType, ModelInfo, Shift, max_sinks

_TOKENS = (2_000, 5_000, 20_000, 50_000)
_SMALLEST_WINDOW = 256
_LARGEST_WINDOW = 2**20


class EnduranceChoicesForm(QWidget):
    """The controls."""

    changed = Signal()
    """Another run is chosen or not."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        defaults = EnduranceChoices()
        self.tokens = _box([(f"{n:,}", n) for n in _TOKENS], defaults.n_tokens)
        self.window_size = QComboBox()
        self.sinks = QSpinBox()
        self.shift = _box(
            [(self.tr("lazy"), Shift.LAZY), (self.tr("eager"), Shift.EAGER)],
            defaults.shift,
        )
        self.kv_type = _box([(kind.value, kind) for kind in KVType], defaults.kv_type)
        self.runs = {
            EnduranceRun.ENDLESS: QCheckBox(self.tr("endless")),
            EnduranceRun.EXACT: QCheckBox(self.tr("exact")),
            EnduranceRun.WINDOW: QCheckBox(self.tr("window without sinks")),
        }
        self._arrange()
        self._fill_windows(8192, defaults.n_ctx)
        self.sinks.setValue(defaults.n_sinks)
        self.window_size.currentIndexChanged.connect(self._bound_sinks)
        for box in self.runs.values():
            box.setChecked(True)
            box.toggled.connect(self.changed)

    def choices(self) -> EnduranceChoices:
        """What is chosen now."""
        return EnduranceChoices(
            runs=tuple(run for run, box in self.runs.items() if box.isChecked() and box.isEnabledTo(self)),
            n_tokens=self.tokens.currentData(),
            n_ctx=self.window_size.currentData(),
            n_sinks=self.sinks.value(),
            shift=Shift(self.shift.currentData()),
            kv_type=KVType(self.kv_type.currentData()),
        )

    def show_model(self, info: ModelInfo | None) -> None:
        """Offer what the loaded model can do."""
        if info is None:
            return
        self._fill_windows(info.n_ctx_train, self.window_size.currentData())
        cannot = info.endurance is Endurance.CANNOT
        for run, box in self.runs.items():
            impossible = cannot and run is not EnduranceRun.EXACT
            box.setEnabled(not impossible)
            box.setToolTip((info.endurance_reason or "") if impossible else self._hints[run])

    def _fill_windows(self, trained: int, wanted: int) -> None:
        """Powers of two up to the trained context."""
        sizes = [_SMALLEST_WINDOW]
        while sizes[-1] * 2 <= min(trained, _LARGEST_WINDOW):
            sizes.append(sizes[-1] * 2)
        if trained < _SMALLEST_WINDOW:
            sizes = [trained]
        if [self.window_size.itemData(row) for row in range(self.window_size.count())] == sizes:
            return
        self.window_size.clear()
        for size in sizes:
            self.window_size.addItem(f"{size:,}", size)
        self.window_size.setCurrentIndex(
            max(row for row, size in enumerate(sizes) if size <= max(wanted, sizes[0]))
        )
        self._bound_sinks()

    def _bound_sinks(self) -> None:
        size = self.window_size.currentData()
        if size is not None:  # while the list is filled there is none
            self.sinks.setMaximum(max_sinks(size))

    def _arrange(self) -> None:
        self._hints = {
            EnduranceRun.ENDLESS: self.tr("The first tokens stay, the oldest of the others leave the cache."),
            EnduranceRun.EXACT: self.tr("What remains is read again whenever the window is full: slow."),
            EnduranceRun.WINDOW: self.tr("The first tokens leave too, to show what happens then."),
        }
        fields = (
            (self.tr("Tokens"), self.tokens, self.tr("How many tokens of the text are read")),
            (self.tr("Window"), self.window_size, self.tr("Tokens that the cache holds, sinks included")),
            (self.tr("Sinks"), self.sinks, self.tr("First tokens that always stay")),
            (
                self.tr("Shift"),
                self.shift,
                self.tr("When positions close gaps: as late as can be, or at once"),
            ),
            (self.tr("KV type"), self.kv_type, self.tr("How the values of the cache are stored")),
        )
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(UNIT * 3 // 2)
        grid.setVerticalSpacing(UNIT // 2)
        for column, (name, control, hint) in enumerate(fields):
            label = QLabel(name)
            label.setProperty("muted", True)
            label.setBuddy(control)
            control.setAccessibleName(name)
            control.setAccessibleDescription(hint)
            control.setToolTip(hint)
            grid.addWidget(label, 0, column)
            control.setMinimumHeight(self.tokens.sizeHint().height())
            grid.addWidget(control, 1, column)
        grid.setColumnStretch(len(fields), 1)
        grid.setRowMinimumHeight(2, UNIT // 2)
        grid.addLayout(self._runs_row(), 3, 0, 1, len(fields) + 1)

    def _runs_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(UNIT * 2)
        for run, box in self.runs.items():
            box.setAccessibleName(self.tr("Run: {0}").format(box.text()))
            box.setToolTip(self._hints[run])
            row.addWidget(box)
        row.addStretch(1)
        return row


def _box(items: list[tuple[str, object]], chosen: object) -> QComboBox:
    box = QComboBox()
    for text, value in items:
        box.addItem(text, value)
    box.setCurrentIndex(next(row for row, (_, value) in enumerate(items) if value == chosen))
    return box
