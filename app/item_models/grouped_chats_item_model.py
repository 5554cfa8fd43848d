"""The chats with a heading above each group of them: pinned, today, yesterday and so on.

A `ChatListItemModel` goes in; rows that are headings or chats come out. Promises: after each change, and
within a minute after midnight, chats stand under the right heading; what is selected or being edited
stays so while its row moves; headings can be neither selected nor edited. Knows nothing about stores.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from PySide6.QtCore import QAbstractListModel, QDate, QLocale, QModelIndex, QObject, Qt, QTimer

from app.data.stored_message import ChatSummary
from app.item_models.chat_groups import Group, Period, group_chats
from app.item_models.chat_list_item_model import CHAT_ROLE, ChatListItemModel, Index

GROUP_ROLE = CHAT_ROLE + 1
"""The `Group` of a heading; None for chats."""

LOOKS_AT_CALENDAR_EVERY_MS = 60_000
"""Not one timer that runs until midnight: those stand still while a computer sleeps."""

_ROOT = QModelIndex()
_Row = Group | ChatSummary


class GroupedChatsItemModel(QAbstractListModel):
    """One row a heading or a chat."""

    def __init__(
        self,
        chats: ChatListItemModel,
        parent: QObject | None = None,
        *,
        today: Callable[[], date] = date.today,
    ) -> None:
        super().__init__(parent)
        self._source = chats
        self._today = today
        self._day = today()
        self._rows: list[_Row] = []
        for signal in (
            *(chats.modelReset, chats.rowsInserted, chats.rowsRemoved),
            *(chats.rowsMoved, chats.dataChanged),
        ):
            signal.connect(self._regroup)
        chats.answering_changed.connect(self._on_answering)
        self._calendar = QTimer(self)
        self._calendar.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._calendar.timeout.connect(self.look_at_calendar)
        self._calendar.start(LOOKS_AT_CALENDAR_EVERY_MS)
        self._regroup()

    def look_at_calendar(self) -> None:
        """Put the chats under other headings if a new day has begun."""
        if self._today() != self._day:
            self._regroup()

    def row_of(self, chat_id: str | None) -> int | None:
        """The row of a chat, None if it is not shown."""
        return next((row for row, shown in enumerate(self._rows) if _key(shown) == chat_id), None)

    def chat_at(self, row: int) -> ChatSummary | None:
        """The chat of a row, None for headings and outside."""
        shown = self._rows[row] if 0 <= row < len(self._rows) else None
        return shown if isinstance(shown, ChatSummary) else None

    def chat_rows(self) -> list[int]:
        """The rows that are chats, from the top."""
        return [row for row, shown in enumerate(self._rows) if isinstance(shown, ChatSummary)]

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many headings and chats there are."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles and headings; for screen readers also the heading that a chat stands under."""
        if not index.isValid():
            return None
        shown = self._rows[index.row()]
        if isinstance(shown, Group):
            return self._heading_data(index.row(), shown, role)
        if role == Qt.ItemDataRole.AccessibleDescriptionRole:
            heading = self._heading(self._group_above(index.row()))
            is_answered = self._source.is_answering(shown.id)
            return self.tr("{0}, is being answered").format(heading) if is_answered else heading
        return self._source.data_of(shown, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Ask for another title of a chat; blank ones are ignored."""
        chat = self.chat_at(index.row())
        if chat is None or role != Qt.ItemDataRole.EditRole:
            return False
        return self._source.ask_to_rename(chat.id, str(value))

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Chats can be selected and edited; a heading is only there."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        if self.chat_at(index.row()) is None:
            return Qt.ItemFlag.ItemNeverHasChildren
        return (
            Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemIsEditable
            | Qt.ItemFlag.ItemNeverHasChildren
        )

    def _heading_data(self, row: int, group: Group, role: int) -> Any:
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._heading(group)
            case Qt.ItemDataRole.AccessibleTextRole:
                following = (later for later in range(row + 1, len(self._rows)))
                end = next((i for i in following if isinstance(self._rows[i], Group)), len(self._rows))
                return self.tr("{0}, group of {1}").format(self._heading(group), end - row - 1)
        return group if role == GROUP_ROLE else None

    def _group_above(self, row: int) -> Group:
        while not isinstance(group := self._rows[row], Group):
            row -= 1
        return group

    def _heading(self, group: Group) -> str:
        match group.period:
            case Period.PINNED:
                return self.tr("Pinned")
            case Period.TODAY:
                return self.tr("Today")
            case Period.YESTERDAY:
                return self.tr("Yesterday")
            case Period.WEEK:
                return self.tr("Previous 7 days")
            case Period.THIRTY_DAYS:
                return self.tr("Previous 30 days")
            case Period.MONTH:
                return QLocale().toString(QDate(group.year, group.month, 1), "MMMM yyyy")

    def _on_answering(self, chat_id: str) -> None:
        row = self.row_of(chat_id)
        if row is not None:
            self.dataChanged.emit(self.index(row), self.index(row))

    # --- following the chats ----------------------------------------------------------------------

    def _regroup(self) -> None:
        """Show what the chats are now, by removing, adding and moving rows: a reset would lose too much."""
        self._day = self._today()
        rows: list[_Row] = []
        for group, chats in group_chats(self._source.chats(), self._day):
            rows += [group, *chats]
        self._remove_all_but({_key(row) for row in rows})
        self._append_new(rows)
        self._arrange(rows)
        self._replace(rows)

    def _remove_all_but(self, keys: set[Group | str]) -> None:
        end = len(self._rows)
        while end > 0:
            start = end
            while start > 0 and _key(self._rows[start - 1]) not in keys:
                start -= 1
            if start < end:
                self.beginRemoveRows(_ROOT, start, end - 1)
                del self._rows[start:end]
                self.endRemoveRows()
            end = start - 1

    def _append_new(self, rows: list[_Row]) -> None:
        known = {_key(row) for row in self._rows}
        new = [row for row in rows if _key(row) not in known]
        if new:
            self.beginInsertRows(_ROOT, len(self._rows), len(self._rows) + len(new) - 1)
            self._rows += new
            self.endInsertRows()

    def _arrange(self, rows: list[_Row]) -> None:
        """Put the rows that there are now into the order of `rows`."""
        keys, wanted = [_key(row) for row in self._rows], [_key(row) for row in rows]
        if keys == wanted:
            return
        self.layoutAboutToBeChanged.emit()
        places = {key: row for row, key in enumerate(wanted)}
        former = self.persistentIndexList()
        by_key = dict(zip(keys, self._rows, strict=True))
        self._rows = [by_key[key] for key in wanted]
        self.changePersistentIndexList(former, [self.index(places[keys[index.row()]]) for index in former])
        self.layoutChanged.emit()

    def _replace(self, rows: list[_Row]) -> None:
        pairs = enumerate(zip(self._rows, rows, strict=True))
        changed = [row for row, (old, new) in pairs if old is not new and old != new]
        self._rows = rows
        for row in changed:
            self.dataChanged.emit(self.index(row), self.index(row))


def _key(row: _Row) -> Group | str:
    return row.id if isinstance(row, ChatSummary) else row
