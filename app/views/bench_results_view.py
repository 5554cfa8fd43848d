"""The stored benchmarks: a list grouped by run, to choose from, to name and to delete.

A `BenchResults` service goes in; which results are chosen comes out. Promises that nothing is deleted
without a question. Knows nothing about how results are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from app.data.bench_store import StoredResult, StoredRun
from app.item_models.bench_item_model import RESULT_ROLE, RUN_ROLE, BenchItemModel, Wording
from app.services.bench_results import BenchResults
from app.views import bench_words
from app.views.bench_compared import run_title
from app.views.isolating_delegate import IsolatingDelegate
from app.views.leading_label import LeadingLabel
from app.views.question_line import QuestionLine
from app.views.tokens import UNIT

_MOST_ROWS = 14
_WIDTHS = {
    bench_words.TEST: UNIT * 25,
    bench_words.MODEL: UNIT * 19,
    bench_words.SPEED: UNIT * 9,
    bench_words.SPREAD: UNIT * 9,
    bench_words.SETTINGS: UNIT * 24,
}


class _Tree(QTreeView):
    """The space bar chooses the row, whichever of its columns has the focus."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt asks the cell that has the focus alone."""
        index = self.currentIndex().siblingAtColumn(0)
        if event.key() == Qt.Key.Key_Space and index.isValid():
            role = Qt.ItemDataRole.CheckStateRole
            is_chosen = Qt.CheckState(index.data(role)) is Qt.CheckState.Checked
            state = Qt.CheckState.Unchecked if is_chosen else Qt.CheckState.Checked
            self.model().setData(index, state, role)
        else:
            super().keyPressEvent(event)


class BenchResultsView(QWidget):
    """Hidden while there are no results."""

    chosen_changed = Signal(object)
    """The chosen `StoredResult`s, in the order of the rows."""

    def __init__(self, results: BenchResults, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._results = results
        wording = Wording(
            bench_words.titles(),
            bench_words.cell,
            bench_words.key,
            bench_words.all_in_words,
            lambda run: run_title(run, results.runs),
            bench_words.NUMBERS,
        )
        self.models = BenchItemModel(wording, self)
        self.tree = _Tree()
        self.none = QPushButton(self.tr("Choose none"))
        self.name = QPushButton(self.tr("Name the run"))
        self.delete = QPushButton(self.tr("Delete"))
        self.question = QuestionLine()
        self._dress()
        self._arrange()
        self._connect()
        self._show(results.runs)

    def choose(self, results: Sequence[StoredResult]) -> None:
        """Compare these."""
        self.models.choose(result.id for result in results)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A bar to scroll sideways may be needed, or not any more."""
        super().resizeEvent(event)
        self._fit()

    # --- what happens -----------------------------------------------------------------------------

    def _connect(self) -> None:
        self._results.changed.connect(self._show)
        self.models.chosen_changed.connect(self._on_chosen)
        self.models.label_requested.connect(self._results.set_label)
        self.tree.selectionModel().currentChanged.connect(lambda *_: self._show_buttons())
        self.tree.expanded.connect(lambda _index: self._fit())
        self.tree.collapsed.connect(lambda _index: self._fit())
        self.none.clicked.connect(lambda: self.models.choose(()))
        self.name.clicked.connect(self._name)
        self.delete.clicked.connect(self._ask_to_delete)
        self.question.answered.connect(self.tree.setFocus)
        shortcut = QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.tree)
        shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
        shortcut.activated.connect(self._ask_to_delete)

    def _show(self, runs: Sequence[StoredRun]) -> None:
        known = {self._run_of(row).facts.id for row in range(self.models.rowCount())}
        self.models.show_runs(runs)
        for row in range(self.models.rowCount()):
            self.tree.setFirstColumnSpanned(row, QModelIndex(), True)
            is_new = self._run_of(row).facts.id not in known
            if is_new and (row == 0 or known):  # of those from before, only the newest stands open
                self.tree.expand(self.models.index(row, 0))
        self.setVisible(bool(runs))
        self._fit()
        self._show_buttons()

    def _on_chosen(self) -> None:
        self._show_buttons()
        self.chosen_changed.emit(self.models.chosen())

    def _show_buttons(self) -> None:
        self.none.setEnabled(bool(self.models.chosen()))
        self.name.setEnabled(self._to_name().isValid())
        self.delete.setEnabled(bool(self._to_delete()))

    def _name(self) -> None:
        run = self._to_name()
        self.tree.setFocus()
        self.tree.setCurrentIndex(run)
        self.tree.edit(run)

    def _to_name(self) -> QModelIndex:
        """The run of what is chosen, or else of the row with the focus; invalid if it is not one run."""
        chosen = {result.id for result in self.models.chosen()}
        if not chosen:
            index = self.tree.currentIndex()
            return (index.parent() if index.parent().isValid() else index).siblingAtColumn(0)
        runs = [run for run in self._results.runs if chosen & {result.id for result in run.results}]
        return self.models.run_index(runs[0].facts.id) if len(runs) == 1 else QModelIndex()

    def _to_delete(self) -> list[StoredResult]:
        """What is chosen, or else the row that the focus is on."""
        if chosen := self.models.chosen():
            return chosen
        index = self.tree.currentIndex()
        if not index.isValid():
            return []
        result = index.data(RESULT_ROLE)
        return [result] if result else [*index.data(RUN_ROLE).results]

    def _ask_to_delete(self) -> None:
        results = self._to_delete()
        if not results:
            return
        ids = [result.id for result in results]
        if len(ids) == 1:
            sentence = self.tr("Delete the result {0} for good?").format(results[0].record.test)
        else:
            sentence = self.tr("Delete {0} results for good?").format(f"{len(ids):,}")
        answers = [
            (self.tr("Delete them") if len(ids) > 1 else self.tr("Delete it"), lambda: self._delete(ids)),
            (self.tr("Keep"), lambda: None),
        ]
        self.question.ask(sentence, answers)

    def _delete(self, ids: Sequence[int]) -> None:
        self._results.delete(ids)

    # --- the widget -------------------------------------------------------------------------------

    def _run_of(self, row: int) -> StoredRun:
        run: StoredRun = self.models.index(row, 0).data(RUN_ROLE)
        return run

    def _fit(self) -> None:
        """As high as its rows, up to a height that still shows what stands below."""
        rows = sum(
            1 + (self.models.rowCount(index) if self.tree.isExpanded(index) else 0)
            for index in (self.models.index(row, 0) for row in range(self.models.rowCount()))
        )
        row_height = self.tree.sizeHintForRow(0) if rows else 0
        header = self.tree.header().sizeHint().height()
        is_wide = self.tree.header().length() > self.tree.viewport().width()
        bar = self.tree.horizontalScrollBar().sizeHint().height() if is_wide else 0
        self.tree.setFixedHeight(header + min(_MOST_ROWS, max(1, rows)) * row_height + bar + UNIT)

    def _dress(self) -> None:
        tree = self.tree
        tree.setObjectName("benchResults")
        tree.setAccessibleName(self.tr("Stored results"))
        tree.setModel(self.models)
        tree.setItemDelegate(IsolatingDelegate(tree))
        tree.setFrameShape(QFrame.Shape.NoFrame)
        tree.setUniformRowHeights(True)
        tree.setSortingEnabled(True)
        tree.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        tree.setTabKeyNavigation(False)
        tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        tree.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        tree.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        tree.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        tree.header().setStretchLastSection(True)
        tree.header().setSectionsMovable(False)
        for column, width in _WIDTHS.items():
            tree.setColumnWidth(column, width)
        for button in (self.none, self.name, self.delete):
            button.setObjectName("formButton")
        self.name.setToolTip(
            self.tr("Name the run of what is chosen, or else that of the row with the focus (F2)")
        )
        self.delete.setToolTip(self.tr("Delete what is chosen, or else the row with the focus"))

    def _arrange(self) -> None:
        title = LeadingLabel(self.tr("Results"))
        title.setObjectName("groupTitle")
        buttons = QHBoxLayout()
        buttons.setSpacing(UNIT)
        buttons.addWidget(title, 1)
        for button in (self.none, self.name, self.delete):
            buttons.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addLayout(buttons)
        column.addWidget(self.question)
        column.addWidget(self.tree)
