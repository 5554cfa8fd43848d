"""What the command palette offers: commands and chats, those that fit what was typed, best first.

`PaletteCommand`s and `ChatSummary`s go in, rows of either come out. Nothing typed: all commands and the
newest chats. Knows nothing about what commands do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt

from app.data.stored_message import ChatSummary
from app.item_models.chat_list_item_model import Index
from app.item_models.fuzzy_match import fold, score

OFFER_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `PaletteCommand` or `ChatSummary` of a row."""

N_CHATS_AT_FIRST = 8
"""How many chats are offered before anything is typed."""

N_SHOWN = 60
"""How many rows there are at most: who has not found it by then types another letter."""

_CHATS_COME_SECOND = 0.5
_KEYWORDS_COUNT = 0.5
_ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class PaletteCommand:
    """Something that can be done. `shortcut` is shown as it is; `keywords` are other words for it.

    A command that is `unavailable_because` of something is shown with that reason and cannot be chosen.
    """

    id: str
    title: str
    shortcut: str = ""
    keywords: tuple[str, ...] = ()
    group: str = ""
    unavailable_because: str = ""


Offer = PaletteCommand | ChatSummary


@dataclass(frozen=True, slots=True)
class _Named:
    offer: Offer
    name: str
    others: str = ""


class PaletteItemModel(QAbstractListModel):
    """One row a command or chat."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._commands: list[_Named] = []
        self._chats: Sequence[ChatSummary] = ()
        self._named_chats: list[_Named] | None = None
        self._shown: list[Offer] = []

    def set_offers(self, commands: Iterable[PaletteCommand], chats: Iterable[ChatSummary]) -> None:
        """Offer these, chats newest first, and show what there is before anything is typed."""
        self._commands = [_Named(c, fold(c.title), fold(" ".join((c.group, *c.keywords)))) for c in commands]
        self._chats = [chat for chat in chats if chat.title]
        self._named_chats = None
        self.find("")

    def find(self, text: str) -> None:
        """Show what fits `text`."""
        query = fold(text)
        self.beginResetModel()
        self._shown = self._fitting(query) if query else self._first()
        self.endResetModel()

    def offer_at(self, row: int) -> Offer | None:
        """The command or chat of a row, None outside."""
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """How many fit."""
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The title; for screen readers also the group, the shortcut and why it cannot be chosen."""
        if not index.isValid():
            return None
        offer = self._shown[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return " ".join(offer.title.split())
            case Qt.ItemDataRole.AccessibleTextRole:
                return ", ".join(part for part in self._parts(offer) if part)
        return offer if role == OFFER_ROLE else None

    def _parts(self, offer: Offer) -> Sequence[str]:
        if isinstance(offer, ChatSummary):
            return offer.title, self.tr("chat")
        return offer.title, offer.group, offer.shortcut, offer.unavailable_because

    def _first(self) -> list[Offer]:
        return [*(named.offer for named in self._commands), *self._chats[:N_CHATS_AT_FIRST]]

    def _fitting(self, query: str) -> list[Offer]:
        # `sorted` is stable: what fits alike stays in the order in which it was offered.
        best = sorted(self._scored(query), key=lambda pair: pair[0], reverse=True)
        return [offer for _, offer in best[:N_SHOWN]]

    def _scored(self, query: str) -> Iterator[tuple[float, Offer]]:
        for named in self._commands:
            fit = score(query, named.name)
            other = score(query, f"{named.name} {named.others}")
            if fit is not None or other is not None:
                yield max(fit or 0.0, (other or 0.0) * _KEYWORDS_COUNT), named.offer
        if self._named_chats is None:  # not when it opens: thousands of titles take some milliseconds
            self._named_chats = [_Named(chat, fold(chat.title)) for chat in self._chats]
        for named in self._named_chats:
            if (fit := score(query, named.name)) is not None:
                yield fit - _CHATS_COME_SECOND, named.offer
