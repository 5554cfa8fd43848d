"""The models of the library as Qt's list views want them: sorted, and those alone that fit what was typed.

`InstalledModel`s go in as they are found, rows come out. Promises: a row that changes or moves stays the
same row for a view; models that cannot be loaded come last. A name that was edited in a view is only asked
for, with `rename_requested`. Knows nothing about how a row looks.
"""

from __future__ import annotations

import bisect
import enum
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt, Signal

from app.data.installed_model import InstalledModel
from app.item_models.chat_list_item_model import Index
from app.item_models.fuzzy_match import fold

MODEL_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `InstalledModel` of a row."""

_Key = tuple[Any, ...]
_ROOT = QModelIndex()


class Order(enum.Enum):
    """What the models are sorted by."""

    NAME = enum.auto()
    SIZE = enum.auto()  # the largest first
    CONTEXT = enum.auto()  # the largest first
    DATE = enum.auto()  # the newest first


_FIRST: dict[Order, Callable[[InstalledModel], int]] = {
    Order.NAME: lambda _model: 0,
    Order.SIZE: lambda model: -model.scanned.size,
    Order.CONTEXT: lambda model: -(model.n_ctx_train or 0),
    Order.DATE: lambda model: -model.scanned.mtime_ns,
}


class LibraryItemModel(QAbstractListModel):
    """One row a model."""

    rename_requested = Signal(object, str)
    """The path of a model, and what the user typed; empty is what its file is called."""

    def __init__(
        self,
        describe: Callable[[InstalledModel], str] = lambda model: model.name,
        parent: QObject | None = None,
    ) -> None:
        """`describe` says all of a row in words, for screen readers."""
        super().__init__(parent)
        self._describe = describe
        self._models: dict[Path, InstalledModel] = {}
        self._shown: list[InstalledModel] = []
        self._keys: list[_Key] = []  # of what is shown
        self._words: tuple[str, ...] = ()
        self._order = Order.NAME

    @property
    def n_models(self) -> int:
        """How many there are, shown or not."""
        return len(self._models)

    def put(self, models: Iterable[InstalledModel]) -> None:
        """Show these, new or not as they were."""
        if not self._models:
            self._models = {model.path: model for model in models}
            self._show_all()
            return
        for model in models:
            self._put(model)

    def remove(self, paths: Iterable[Path]) -> None:
        """Do not show these any more."""
        for path in paths:
            row = self.row_of(path)
            if row is not None:
                self._take_row(row)
            self._models.pop(path, None)

    def find(self, text: str) -> None:
        """Show those alone that have all words of `text` in their name, place, kind or quantization."""
        words = tuple(fold(text).split())
        if words != self._words:
            self._words = words
            self._show_all()

    def sort_by(self, order: Order) -> None:
        """Show them in another order."""
        if order is not self._order:
            self._order = order
            self._show_all()

    def row_of(self, path: Path) -> int | None:
        """The row of a model, None if it is not shown."""
        model = self._models.get(path)
        if model is None:
            return None
        key = self._key(model)
        row = bisect.bisect_left(self._keys, key)
        return row if row < len(self._keys) and self._keys[row] == key else None

    def model_at(self, row: int) -> InstalledModel | None:
        """The model of a row, None outside."""
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many are shown."""
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The name; all in words for screen readers."""
        if not index.isValid():
            return None
        model = self._shown[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.EditRole:
                return model.name
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._describe(model)
        return model if role == MODEL_ROLE else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Ask for another name."""
        if not index.isValid() or role != Qt.ItemDataRole.EditRole:
            return False
        self.rename_requested.emit(self._shown[index.row()].path, str(value))
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Every row can be selected and renamed; whether its model can be loaded is another matter."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flag = Qt.ItemFlag
        return flag.ItemIsSelectable | flag.ItemIsEnabled | flag.ItemIsEditable | flag.ItemNeverHasChildren

    # --- rows -------------------------------------------------------------------------------------

    def _put(self, model: InstalledModel) -> None:
        row = self.row_of(model.path)
        self._models[model.path] = model
        if row is None:
            self._insert(model)
        elif not self._is_wanted(model):
            self._take_row(row)
        elif self._keys[row] == self._key(model):
            self._shown[row] = model
            self.dataChanged.emit(self.index(row), self.index(row))
        else:
            self._move(row, model)

    def _insert(self, model: InstalledModel) -> None:
        if self._is_wanted(model):
            row = bisect.bisect_left(self._keys, self._key(model))
            self.beginInsertRows(_ROOT, row, row)
            self._shown.insert(row, model)
            self._keys.insert(row, self._key(model))
            self.endInsertRows()

    def _move(self, row: int, model: InstalledModel) -> None:
        key = self._key(model)
        before = bisect.bisect_left(self._keys, key)  # counted while the row is still there
        moves = before not in (row, row + 1)
        if moves:
            self.beginMoveRows(_ROOT, row, row, _ROOT, before)
        del self._shown[row], self._keys[row]
        new_row = before - (before > row)
        self._shown.insert(new_row, model)
        self._keys.insert(new_row, key)
        if moves:
            self.endMoveRows()
        self.dataChanged.emit(self.index(new_row), self.index(new_row))

    def _take_row(self, row: int) -> None:
        self.beginRemoveRows(_ROOT, row, row)
        del self._shown[row], self._keys[row]
        self.endRemoveRows()

    def _show_all(self) -> None:
        self.beginResetModel()
        rows = sorted((self._key(model), model) for model in self._models.values() if self._is_wanted(model))
        self._keys = [key for key, _ in rows]
        self._shown = [model for _, model in rows]
        self.endResetModel()

    def _key(self, model: InstalledModel) -> _Key:
        """No two are alike."""
        first = _FIRST[self._order](model)
        return (not model.can_be_chosen, first, fold(model.name), str(model.path))

    def _is_wanted(self, model: InstalledModel) -> bool:
        if not self._words:
            return True
        scanned = model.scanned
        parts = (model.name, model.place, scanned.quantization, scanned.architecture, model.path.name)
        text = fold(" ".join(part for part in parts if part))
        return all(word in text for word in self._words)
