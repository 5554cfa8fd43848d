"""What a search found, as Qt's list views want it, best first.

`Found` values go in; titles, excerpts and what a screen reader says come out. Knows nothing about how
they were found.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt

from app.data.stored_message import Found
from app.item_models.chat_list_item_model import Index

FOUND_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `Found` of a row."""

_ROOT = QModelIndex()


class FoundItemModel(QAbstractListModel):
    """One row a place."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._found: Sequence[Found] = ()

    def set_found(self, found: Sequence[Found]) -> None:
        """Show these places instead of all others."""
        self.beginResetModel()
        self._found = tuple(found)
        self.endResetModel()

    def found_at(self, row: int) -> Found | None:
        """The place of a row, None outside."""
        return self._found[row] if 0 <= row < len(self._found) else None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many places there are."""
        return 0 if parent.isValid() else len(self._found)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The chat's title, the excerpt as a tool tip, both for screen readers."""
        if not index.isValid():
            return None
        found = self._found[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._title(found)
            case Qt.ItemDataRole.ToolTipRole:
                # As text, never as rich text: a tool tip would read an <img src=...> that is in a message.
                return f"<p>{html.escape(found.excerpt)}</p>"
            case Qt.ItemDataRole.AccessibleTextRole if found.message_id is not None:
                return f"{self._title(found)}: {found.excerpt}"
        return found if role == FOUND_ROLE else None

    def _title(self, found: Found) -> str:
        return " ".join(found.chat.title.split()) or self.tr("New chat")
