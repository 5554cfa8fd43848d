"""Benchmarks as Qt's views want them: runs, and below each run its results, which can be chosen to compare.

Whole tuples of `StoredRun`s go in, the fewest changes of rows come out, so that focus and open groups stay.
Sorting orders the results within their run; runs stand newest first. Promises that results that were chosen
stay chosen until they are deleted. Knows nothing about how a cell reads: a `Wording` says that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt, Signal

from app.data.bench_store import StoredResult, StoredRun
from app.item_models.chat_list_item_model import Index

RUN_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `StoredRun` of a row, also of one below it."""

RESULT_ROLE = Qt.ItemDataRole.UserRole + 2
"""The `StoredResult` of a row, None for a run."""

_ROOT = QModelIndex()
_TEXT = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole)


@dataclass(frozen=True, slots=True)
class Wording:
    """How cells read: `cell_of` gives the text of a result in a column, `key_of` what it is sorted by there.

    `titles` are those of the columns; `describe` says all of a result in one sentence, `title_of` a run.
    `numbers`: the columns that are such.
    """

    titles: Sequence[str]
    cell_of: Callable[[StoredResult, int], str]
    key_of: Callable[[StoredResult, int], Any]
    describe: Callable[[StoredResult], str]
    title_of: Callable[[StoredRun], str]
    numbers: frozenset[int] = frozenset()


class _Group:
    """A run as a row: `number` is never another's, `rows` are its results as they stand."""

    def __init__(self, number: int, run: StoredRun) -> None:
        self.number = number
        self.run = run
        self.rows: list[StoredResult] = []


class BenchItemModel(QAbstractItemModel):
    """Two levels: runs, whose first column spans the others, and their results."""

    chosen_changed = Signal()
    """Other results are chosen."""

    label_requested = Signal(str, str)
    """The id of a run and what the user wants it to be called."""

    def __init__(self, wording: Wording, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._wording = wording
        self._groups: list[_Group] = []
        self._next_number = 1
        self._chosen: set[int] = set()
        self._sorted_by: tuple[int, bool] | None = None

    # --- what there is ----------------------------------------------------------------------------

    def show_runs(self, runs: Sequence[StoredRun]) -> None:
        """Have these runs, in this order."""
        wanted = {run.facts.id for run in runs}
        for row in reversed(range(len(self._groups))):
            if self._groups[row].run.facts.id not in wanted:
                self.beginRemoveRows(_ROOT, row, row)
                del self._groups[row]
                self.endRemoveRows()
        for row, run in enumerate(runs):
            self._put(row, run)
        there = {result.id for run in runs for result in run.results}
        if self._chosen - there:
            self._chosen &= there
            self.chosen_changed.emit()

    def chosen(self) -> list[StoredResult]:
        """The chosen results, in the order of the rows."""
        return [result for group in self._groups for result in group.rows if result.id in self._chosen]

    def choose(self, result_ids: Iterable[int]) -> None:
        """Choose these results and no others."""
        self._set_chosen(set(result_ids))

    def run_index(self, run_id: str) -> QModelIndex:
        """The row of a run; invalid if it is not there."""
        rows = (row for row, group in enumerate(self._groups) if group.run.facts.id == run_id)
        row = next(rows, None)
        return QModelIndex() if row is None else self.index(row, 0)

    # --- Qt's side --------------------------------------------------------------------------------

    def index(self, row: int, column: int, parent: Index = _ROOT) -> QModelIndex:
        """Runs have the internal id 0, results the number of their run."""
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, self._groups[parent.row()].number if parent.isValid() else 0)

    def parent(self, index: Index = _ROOT) -> QModelIndex:  # type: ignore[override]
        """The run of a result."""
        if not index.isValid() or not index.internalId():
            return QModelIndex()
        row = next(row for row, group in enumerate(self._groups) if group.number == index.internalId())
        return self.createIndex(row, 0, 0)

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Runs, or the results of one."""
        if not parent.isValid():
            return len(self._groups)
        is_run = not parent.internalId() and parent.column() == 0
        return len(self._groups[parent.row()].rows) if is_run else 0

    def columnCount(self, _parent: Index = _ROOT) -> int:
        """As many as there are titles."""
        return len(self._wording.titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The titles."""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(section)
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self._wording.titles[section]
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """All can be chosen for comparison, a run with all of its results; runs can be named."""
        flags = super().flags(index)
        if not index.isValid() or index.column():
            return flags
        is_run = not index.internalId()
        name = Qt.ItemFlag.ItemIsEditable if is_run else Qt.ItemFlag.NoItemFlags
        return flags | Qt.ItemFlag.ItemIsUserCheckable | name

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Texts, and whether it is chosen."""
        if not index.isValid():
            return None
        group, result = self._at(index)
        if role == Qt.ItemDataRole.CheckStateRole and index.column() == 0:
            return self._check_state(group, result)
        if role in _TEXT:
            return self._text(group.run, result, index.column(), role)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(index.column())
        if role == Qt.ItemDataRole.EditRole:
            return None if result else group.run.label
        return {RUN_ROLE: group.run, RESULT_ROLE: result}.get(role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Choose a result, or all of a run, or no more; name a run."""
        if not index.isValid() or index.column():
            return False
        group, result = self._at(index)
        if role == Qt.ItemDataRole.EditRole and not result:
            self.label_requested.emit(group.run.facts.id, str(value))
            return True
        if role != Qt.ItemDataRole.CheckStateRole:
            return False
        ids = {result.id} if result else {row.id for row in group.rows}
        is_on = Qt.CheckState(value) is not Qt.CheckState.Unchecked
        self._set_chosen(self._chosen | ids if is_on else self._chosen - ids)
        return True

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Order the results of each run; column -1 is the order of measuring."""
        self._sorted_by = None if column < 0 else (column, order is Qt.SortOrder.DescendingOrder)
        self.layoutAboutToBeChanged.emit()
        former = self.persistentIndexList()
        there = [self._at(index) for index in former]
        for group in self._groups:
            group.rows = self._ordered(group.rows)
        moved = [
            self.createIndex(group.rows.index(result), index.column(), group.number) if result else index
            for index, (group, result) in zip(former, there, strict=True)
        ]
        self.changePersistentIndexList(former, moved)
        self.layoutChanged.emit()

    def _text(self, run: StoredRun, result: StoredResult | None, column: int, role: int) -> str | None:
        words = self._wording
        if result is None:
            return words.title_of(run) if column == 0 else None
        if role == Qt.ItemDataRole.AccessibleTextRole and column == 0:
            return words.describe(result)
        return words.cell_of(result, column)

    def _alignment(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag
        start = side.AlignTrailing if column in self._wording.numbers else side.AlignLeading
        return start | side.AlignVCenter

    # --- rows -------------------------------------------------------------------------------------

    def _at(self, index: Index) -> tuple[_Group, StoredResult | None]:
        number = index.internalId()
        if not number:
            return self._groups[index.row()], None
        group = next(group for group in self._groups if group.number == number)
        return group, group.rows[index.row()]

    def _put(self, row: int, run: StoredRun) -> None:
        """`row` is `run`; all rows above are as they should be. Runs never change places."""
        if row == len(self._groups) or self._groups[row].run.facts.id != run.facts.id:
            self.beginInsertRows(_ROOT, row, row)
            group = _Group(self._next_number, run)
            self._next_number += 1
            group.rows = self._ordered(run.results)
            self._groups.insert(row, group)
            self.endInsertRows()
        elif self._groups[row].run != run:
            group = self._groups[row]
            group.run = run
            self._update_rows(row, group)
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(self._wording.titles) - 1))

    def _update_rows(self, row: int, group: _Group) -> None:
        wanted = {result.id for result in group.run.results}
        parent = self.index(row, 0)
        for at in reversed(range(len(group.rows))):
            if group.rows[at].id not in wanted:
                self.beginRemoveRows(parent, at, at)
                del group.rows[at]
                self.endRemoveRows()
        there = {result.id for result in group.rows}
        for at, result in enumerate(self._ordered(group.run.results)):
            if result.id not in there:
                self.beginInsertRows(parent, at, at)
                group.rows.insert(at, result)
                self.endInsertRows()

    def _ordered(self, results: Iterable[StoredResult]) -> list[StoredResult]:
        ordered = sorted(results, key=lambda result: result.id)
        if self._sorted_by is None:
            return ordered
        column, descending = self._sorted_by
        known = [result for result in ordered if self._wording.key_of(result, column) is not None]
        unknown = [result for result in ordered if self._wording.key_of(result, column) is None]
        known.sort(key=lambda result: self._wording.key_of(result, column), reverse=descending)
        return known + unknown

    # --- choosing ---------------------------------------------------------------------------------

    def _check_state(self, group: _Group, result: StoredResult | None) -> Qt.CheckState:
        if result:
            return Qt.CheckState.Checked if result.id in self._chosen else Qt.CheckState.Unchecked
        n_chosen = sum(row.id in self._chosen for row in group.rows)
        if not n_chosen:
            return Qt.CheckState.Unchecked
        return Qt.CheckState.Checked if n_chosen == len(group.rows) else Qt.CheckState.PartiallyChecked

    def _set_chosen(self, chosen: set[int]) -> None:
        if chosen == self._chosen:
            return
        self._chosen = chosen
        for row, group in enumerate(self._groups):
            run = self.index(row, 0)
            roles = [Qt.ItemDataRole.CheckStateRole]
            self.dataChanged.emit(run, run, roles)
            if group.rows:
                self.dataChanged.emit(self.index(0, 0, run), self.index(len(group.rows) - 1, 0, run), roles)
        self.chosen_changed.emit()
