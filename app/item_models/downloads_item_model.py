"""The downloads as Qt's views want them: rows that stay the same rows while their numbers change.

Whole lists of `DownloadState` go in, the fewest changes of rows come out. Knows nothing about how a row
looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt

from app.item_models.chat_list_item_model import Index
from engine.download.download_values import DownloadState

STATE_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `DownloadState` of a row."""

_ROOT = QModelIndex()


class DownloadsItemModel(QAbstractListModel):
    """One row a download."""

    def __init__(
        self,
        name_of: Callable[[DownloadState], str] = lambda state: state.id,
        describe: Callable[[DownloadState], str] = lambda state: state.id,
        parent: QObject | None = None,
    ) -> None:
        """`describe` says all of a row in words, for screen readers."""
        super().__init__(parent)
        self._name_of = name_of
        self._describe = describe
        self._states: list[DownloadState] = []

    def show_states(self, states: Sequence[DownloadState]) -> None:
        """Have these rows, in this order."""
        wanted = {state.id for state in states}
        for row in reversed(range(len(self._states))):
            if self._states[row].id not in wanted:
                self.beginRemoveRows(_ROOT, row, row)
                del self._states[row]
                self.endRemoveRows()
        for row, state in enumerate(states):
            self._put(row, state)

    def state_at(self, row: int) -> DownloadState | None:
        """The download of a row, None outside."""
        return self._states[row] if 0 <= row < len(self._states) else None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many there are."""
        return 0 if parent.isValid() else len(self._states)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The name; all in words for screen readers."""
        if not index.isValid():
            return None
        state = self._states[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._name_of(state)
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._describe(state)
        return state if role == STATE_ROLE else None

    def _put(self, row: int, state: DownloadState) -> None:
        """`row` has `state`; all rows above are as they should be."""
        old = next((at for at in range(row, len(self._states)) if self._states[at].id == state.id), None)
        if old is None:
            self.beginInsertRows(_ROOT, row, row)
            self._states.insert(row, state)
            self.endInsertRows()
            return
        if old != row:
            self.beginMoveRows(_ROOT, old, old, _ROOT, row)
            self._states.insert(row, self._states.pop(old))
            self.endMoveRows()
        if self._states[row] != state:
            self._states[row] = state
            self.dataChanged.emit(self.index(row), self.index(row))
