"""Chats under their headings: pinned ones, then by the day of the newest message.

Chat summaries and today's date go in, headings with their chats come out. Days are those of the local
calendar, so that midnight and daylight saving time need no care elsewhere. Knows nothing about Qt.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from app.data.stored_message import ChatSummary

_EARLIEST = 1e9
"""Unix seconds, in 2001: the times of a damaged database may be anything, also what no calendar knows."""


class Period(enum.Enum):
    """How long ago, seen from today."""

    PINNED = enum.auto()  # whenever it was
    TODAY = enum.auto()  # also what a wrong clock put into the future
    YESTERDAY = enum.auto()
    WEEK = enum.auto()  # 2 to 7 days ago
    THIRTY_DAYS = enum.auto()  # 8 to 30 days ago
    MONTH = enum.auto()  # earlier, in one month


@dataclass(frozen=True, slots=True)
class Group:
    """What stands in one heading; `year` and `month` of Period.MONTH only."""

    period: Period
    year: int = 0
    month: int = 0


def group_chats(chats: Iterable[ChatSummary], today: date) -> Iterator[tuple[Group, list[ChatSummary]]]:
    """Each heading with its chats, none empty; newest first, chats of the same second as they came."""
    newest_first = sorted(chats, key=_when, reverse=True)
    if pinned := [chat for chat in newest_first if chat.pinned]:
        yield Group(Period.PINNED), pinned
    group, start, members = Group(Period.TODAY), _midnight(today), list[ChatSummary]()
    for chat in newest_first:
        if chat.pinned:
            continue
        if _when(chat) < start:
            if members:
                yield group, members
            group, start = _group_at(_when(chat), today)
            members = []
        members.append(chat)
    if members:
        yield group, members


def _when(chat: ChatSummary) -> float:
    return max(_EARLIEST, chat.updated_at)


def _group_at(seconds: float, today: date) -> tuple[Group, float]:
    """The group of a moment before today, and the first moment of that group in Unix seconds."""
    day = datetime.fromtimestamp(seconds).date()
    for n_days, period in ((1, Period.YESTERDAY), (7, Period.WEEK), (30, Period.THIRTY_DAYS)):
        first = today - timedelta(days=n_days)
        if day >= first:
            return Group(period), _midnight(first)
    return Group(Period.MONTH, day.year, day.month), _midnight(day.replace(day=1))


def _midnight(day: date) -> float:
    return datetime.combine(day, time.min).timestamp()
