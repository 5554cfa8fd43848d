"""What a benchmark shall measure: models, and lists of settings that make the grid.

The models to choose from go in; `choices` reads what is chosen. Promises that a list that cannot be read is
said to be one, and that nothing is measured then. Knows nothing about runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.services.bench_choices import MOST_CASES, BenchChoices
from app.views.bench_numbers import NumbersField
from app.views.leading_label import LeadingLabel
from app.views.settings_controls import ChoiceBox, NumberBox
from app.views.settings_row import muted_label
from app.views.tokens import UNIT
from engine.errors import BadRequest
from engine.protocol import FlashAttention, KVType
from engine.protocol.bench import MOST_REPETITIONS

Model = tuple[str, str]
"""The path of a model and what it is called."""

_MOST_ROWS = 5
_NARROW = UNIT * 80


class BenchChoicesForm(QWidget):
    """The controls."""

    changed = Signal()
    """Something else is chosen: read `choices` and `obstacle`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.models = QListWidget()
        self.prompts = NumbersField("512")
        self.gens = NumbersField("128")
        self.depths = NumbersField("0")
        self.threads = NumbersField("", placeholder=self.tr("all cores"))
        self.batches = NumbersField("2048")
        self.repetitions = NumberBox(1, MOST_REPETITIONS)
        self.flash_attention = ChoiceBox(self._flash_choices())
        self.kv_types = {kind: QCheckBox(kind.value) for kind in KVType}
        self.chat = QCheckBox(self.tr("Whole chat, sampling included"))
        self.told = muted_label()
        self._columns = 0
        self._dress()
        self._arrange()
        self._connect()

    def offer(self, models: Sequence[Model], loaded: str | None) -> None:
        """Choose from `models`; what was chosen stays so, and the first time it is the `loaded` one."""
        known = {path for path, _name in self._offered()}
        chosen = set(self._paths())
        wanted = [*models]
        if wanted != self._offered():
            self.models.clear()
            for path, name in wanted:
                item = QListWidgetItem(name)
                item.setToolTip(path)
                item.setData(Qt.ItemDataRole.UserRole, path)
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
                is_chosen = path in chosen or (not known and path == loaded)
                item.setCheckState(Qt.CheckState.Checked if is_chosen else Qt.CheckState.Unchecked)
                self.models.addItem(item)
            self._fit_list()
        self._tell()

    def choices(self) -> BenchChoices:
        """What is chosen now; lists that cannot be read are empty."""
        return BenchChoices(
            paths=tuple(self._paths()),
            prompts=self.prompts.numbers(),
            gens=self.gens.numbers(),
            depths=self.depths.numbers() or (0,),
            threads=tuple(n or None for n in self.threads.numbers()) or (None,),
            batches=self.batches.numbers() or (2048,),
            kv_types=tuple(kind for kind, box in self.kv_types.items() if box.isChecked()),
            flash_attention=self._flash_choices()[self.flash_attention.currentIndex()][1],
            repetitions=int(self.repetitions.value()),
            with_chat=self.chat.isChecked(),
        )

    def obstacle(self) -> str:
        """A sentence why nothing can be measured so; empty if it can."""
        for name, field in self._fields():
            if isinstance(field, NumbersField) and not field.can_be_read:
                return self.tr("{0}: numbers with commas between them are wanted, such as 512, 2048.").format(
                    name
                )
        if not self._paths():
            return self.tr("Choose a model to measure.")
        try:
            n_cases = len(self.choices().cases())
        except BadRequest as error:
            return str(error)
        if not n_cases:
            return self.tr("Choose something to measure: a prompt, a reply, and a KV type.")
        if n_cases > MOST_CASES:
            return self.tr("These are {0} cases for each model: at most {1} can be measured.").format(
                f"{n_cases:,}", MOST_CASES
            )
        return ""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fewer fields beside each other where there is little room."""
        super().resizeEvent(event)
        self._place()

    # --- reading ----------------------------------------------------------------------------------

    def _offered(self) -> list[Model]:
        items = (self.models.item(row) for row in range(self.models.count()))
        return [(item.data(Qt.ItemDataRole.UserRole), item.text()) for item in items]

    def _paths(self) -> list[str]:
        items = (self.models.item(row) for row in range(self.models.count()))
        checked = (item for item in items if item.checkState() is Qt.CheckState.Checked)
        return [item.data(Qt.ItemDataRole.UserRole) for item in checked]

    def _flash_choices(self) -> list[tuple[str, tuple[FlashAttention, ...]]]:
        auto, on, off = FlashAttention.AUTO, FlashAttention.ON, FlashAttention.OFF
        return [
            (self.tr("auto"), (auto,)),
            (self.tr("on"), (on,)),
            (self.tr("off"), (off,)),
            (self.tr("off and on"), (off, on)),
        ]

    def _tell(self) -> None:
        obstacle = self.obstacle()
        if obstacle:
            self.told.setText(obstacle)
        else:
            choices = self.choices()
            n_cases = len(choices.cases()) * len(choices.paths)
            words = self.tr("{0} case, measured {1} times") if n_cases == 1 else self._cases_words()
            self.told.setText(words.format(f"{n_cases:,}", f"{choices.repetitions:,}"))
        self.changed.emit()

    def _cases_words(self) -> str:
        return self.tr("{0} cases, each measured {1} times")

    # --- the widget -------------------------------------------------------------------------------

    def _fields(self) -> Sequence[tuple[str, QWidget]]:
        return (
            (self.tr("Prompt tokens"), self.prompts),
            (self.tr("Generated tokens"), self.gens),
            (self.tr("Depths"), self.depths),
            (self.tr("Threads"), self.threads),
            (self.tr("Batch"), self.batches),
            (self.tr("Flash attention"), self.flash_attention),
            (self.tr("Repetitions"), self.repetitions),
        )

    def _hints(self) -> Sequence[str]:
        return (
            self.tr("How many tokens are read at once; several numbers with commas, 0 for none"),
            self.tr("How many tokens follow one another; several numbers with commas, 0 for none"),
            self.tr("Tokens that are in the context before; several numbers show how the speed falls"),
            self.tr("Threads that compute; empty is one for each core"),
            self.tr("The most tokens of one decode; several numbers with commas"),
            self.tr("Attention in one pass that keeps no scores"),
            self.tr("How often each case is measured"),
        )

    def _dress(self) -> None:
        self.models.setObjectName("benchModels")
        self.models.setAccessibleName(self.tr("Models to measure"))
        self.models.setTabKeyNavigation(False)
        self.models.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.models.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for (name, field), hint in zip(self._fields(), self._hints(), strict=True):
            field.setAccessibleName(name)
            field.setAccessibleDescription(hint)
            field.setToolTip(hint)
        self.repetitions.show_value(5)
        self.kv_types[KVType.F16].setChecked(True)
        for kind, box in self.kv_types.items():
            box.setAccessibleName(self.tr("KV type {0}").format(kind.value))
            box.setToolTip(self.tr("How the values of the cache are stored"))
        self.chat.setToolTip(
            self.tr("Also ask the model through a chat: first token, loading, evictions and sampling count")
        )
        self._fit_list()

    def _fit_list(self) -> None:
        rows = min(_MOST_ROWS, max(1, self.models.count()))
        height = self.models.sizeHintForRow(0) if self.models.count() else self.fontMetrics().height() + UNIT
        self.models.setFixedHeight(rows * height + UNIT)

    def _connect(self) -> None:
        self.models.itemChanged.connect(lambda _item: self._tell())
        for _name, field in self._fields():
            if isinstance(field, QLineEdit):
                field.textChanged.connect(lambda _text: self._tell())
        self.flash_attention.chosen.connect(lambda _value: self._tell())
        self.repetitions.chosen.connect(lambda _value: self._tell())
        for box in (*self.kv_types.values(), self.chat):
            box.toggled.connect(lambda _on: self._tell())

    def _arrange(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(self._label(self.tr("Models"), self.models))
        column.addWidget(self.models)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(UNIT * 3 // 2)
        self._grid.setVerticalSpacing(UNIT // 2)
        self._cells = [self._cell(name, field) for name, field in self._fields()]
        column.addLayout(self._grid)
        column.addLayout(self._box_row())
        column.addWidget(self.chat, 0, Qt.AlignmentFlag.AlignLeading)
        column.addWidget(self.told)
        self._place()

    def _cell(self, name: str, field: QWidget) -> QWidget:
        cell = QWidget()
        column = QVBoxLayout(cell)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT // 2)
        column.addWidget(self._label(name, field))
        column.addWidget(field)
        field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        field.setFixedHeight(self.repetitions.sizeHint().height())
        return cell

    def _label(self, name: str, buddy: QWidget) -> LeadingLabel:
        label = LeadingLabel(name)
        label.setProperty("muted", True)
        label.setBuddy(buddy)
        return label

    def _box_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(UNIT * 3 // 2)
        label = LeadingLabel(self.tr("KV type"))
        label.setProperty("muted", True)
        row.addWidget(label)
        for box in self.kv_types.values():
            row.addWidget(box)
        row.addStretch(1)
        return row

    def _place(self) -> None:
        n_columns = 3 if self.width() < _NARROW else 4
        if n_columns == self._columns:
            return
        self._columns = n_columns
        for cell in self._cells:
            self._grid.removeWidget(cell)
        for number, cell in enumerate(self._cells):
            self._grid.addWidget(cell, number // n_columns, number % n_columns)
        for column in range(4):
            self._grid.setColumnStretch(column, int(column < n_columns))
