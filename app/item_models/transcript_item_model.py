"""The messages of the open chat as Qt's views want them, oldest first, and what the model sees of them.

Stored messages go in; a view gets them back whole under MESSAGE_ROLE. A reply that grows changes its
own row and no other. The last row may stand for several replies among which one is to be chosen. The
`Sight` goes with the messages it was made for: others begin without one. Knows nothing about stores,
engines or how a message looks.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from app.data.stored_message import StoredMessage
from app.item_models.sight import Presence, Sight
from engine.protocol import Role

MESSAGE_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `StoredMessage` of a row."""

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class TranscriptItemModel(QAbstractListModel):
    """One row a message."""

    sight_changed = Signal()
    """The model sees other messages than before: read `sight`, `line_row` and `presence_of`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages: list[StoredMessage] = []
        self._variants: tuple[StoredMessage, ...] = ()
        self._sight = Sight()

    def set_messages(self, messages: Sequence[StoredMessage], variants: Sequence[StoredMessage] = ()) -> None:
        """Show another chat; `variants` are the last message and the replies that stand beside it."""
        self.beginResetModel()
        self._messages, self._variants = list(messages), tuple(variants)
        self._sight = Sight()
        self.endResetModel()

    def show_branch(self, messages: Sequence[StoredMessage], variants: Sequence[StoredMessage] = ()) -> None:
        """Show other messages of the same chat; what both have at the beginning and the end stays.

        A row that stands for other replies than before is another row.
        """
        before, after = _keys(self._messages, self._variants), _keys(messages, variants)
        head = _common_length(before, after)
        tail = _common_length(before[head:][::-1], after[head:][::-1])
        if head + tail < len(before):
            self.beginRemoveRows(_ROOT, head, len(before) - tail - 1)
            del self._messages[head : len(before) - tail]
            self.endRemoveRows()
        if before[-1:] != after[-1:]:
            self._variants = tuple(variants)
        if head + tail < len(after):
            self.beginInsertRows(_ROOT, head, len(after) - tail - 1)
            self._messages[head:head] = messages[head : len(after) - tail]
            self.endInsertRows()
        for row, message in enumerate(messages):
            self._update(row, message)
        for message in variants:
            self.update_message(message)

    def append(self, message: StoredMessage, variants: Sequence[StoredMessage] = ()) -> None:
        """Show a new message at the end, which `variants` stand beside, itself among them."""
        row = len(self._messages)
        self.beginInsertRows(_ROOT, row, row)
        self._messages.append(message)
        self._variants = tuple(variants)
        self.endInsertRows()

    def update_message(self, message: StoredMessage) -> None:
        """Show a message's new text, state or numbers; one that is not shown is ignored."""
        row = self._row_of(message.id)
        if row is not None:
            self._update(row, message)
        elif any(variant.id == message.id and variant != message for variant in self._variants):
            self._put_variant(message)
            last = self.index(len(self._messages) - 1)
            self.dataChanged.emit(last, last)

    def remove(self, message_id: int) -> None:
        """Do not show a message any more."""
        row = self._row_of(message_id)
        if row is not None:
            self.beginRemoveRows(_ROOT, row, row)
            del self._messages[row]
            self.endRemoveRows()

    def set_sight(self, sight: Sight) -> None:
        """What the model sees of these messages now."""
        if sight != self._sight:
            self._sight = sight
            self.sight_changed.emit()

    @property
    def sight(self) -> Sight:
        """What the model sees of these messages."""
        return self._sight

    @property
    def line_row(self) -> int | None:
        """The row above which the model does not see; the number of rows if that is below them all."""
        line_at = self._sight.line_at
        if line_at is None or not self._messages:
            return None
        return bisect.bisect_left(self._messages, line_at, key=lambda message: message.id)

    def presence_of(self, message: StoredMessage) -> Presence:
        """What the model has of a message."""
        return self._sight.presence_of(message.id)

    def message(self, message_id: int) -> StoredMessage | None:
        """The message with an id, None if it is not shown."""
        row = self._row_of(message_id)
        if row is None:
            return next((variant for variant in self._variants if variant.id == message_id), None)
        return self._messages[row]

    def has_variants(self) -> bool:
        """Whether the last row stands for several replies."""
        return bool(self._variants)

    def variants_of(self, message: StoredMessage) -> tuple[StoredMessage, ...]:
        """All replies that the message's row stands for, itself among them; none if it stands for itself."""
        return self._variants if any(variant.id == message.id for variant in self._variants) else ()

    def number_of(self, message_id: int) -> int | None:
        """A message's number in the chat as a person counts, from 1."""
        row = self._row_of(message_id)
        return None if row is None else row + 1

    def last(self, role: Role | None = None) -> StoredMessage | None:
        """The last message, or the last by one speaker."""
        return next((m for m in reversed(self._messages) if role in (None, m.role)), None)

    def message_at(self, row: int) -> StoredMessage:
        """The message of a row; raises IndexError outside."""
        return self._messages[row]

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many messages there are."""
        return 0 if parent.isValid() else len(self._messages)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text, or the `StoredMessage` for MESSAGE_ROLE."""
        if not index.isValid():
            return None
        message = self._messages[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return message.content
        return message if role == MESSAGE_ROLE else None

    def _update(self, row: int, message: StoredMessage) -> None:
        if self._messages[row] != message:
            self._messages[row] = message
            self._put_variant(message)
            self.dataChanged.emit(self.index(row), self.index(row))

    def _put_variant(self, message: StoredMessage) -> None:
        if self.variants_of(message):
            self._variants = tuple(message if old.id == message.id else old for old in self._variants)

    def _row_of(self, message_id: int) -> int | None:
        # A message that follows another has the larger id.
        row = bisect.bisect_left(self._messages, message_id, key=lambda message: message.id)
        found = row < len(self._messages) and self._messages[row].id == message_id
        return row if found else None


def _keys(messages: Sequence[StoredMessage], variants: Sequence[StoredMessage]) -> list[tuple[int, ...]]:
    """What tells rows apart: the ids of all messages that each one stands for."""
    beside = tuple(variant.id for variant in variants)
    return [beside if message.id in beside else (message.id,) for message in messages]


def _common_length(one: Sequence[tuple[int, ...]], two: Sequence[tuple[int, ...]]) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two))
    )
