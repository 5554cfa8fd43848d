"""Chats stand under the day of their newest message, by the local calendar."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime

import pytest

from app.data.stored_message import ChatSummary
from app.item_models.chat_groups import Group, Period, group_chats

TODAY = date(2025, 3, 31)
P = Period


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def use(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield use
    monkeypatch.undo()
    time.tzset()


def _chat(name: str, when: datetime | float, *, pinned: bool = False) -> ChatSummary:
    seconds = when.timestamp() if isinstance(when, datetime) else when
    return ChatSummary(name, name, seconds, seconds, pinned)


def _grouped(*chats: ChatSummary, today: date = TODAY) -> list[tuple[Group, str]]:
    return [(group, " ".join(chat.id for chat in members)) for group, members in group_chats(chats, today)]


def test_each_period_ends_at_a_midnight() -> None:
    chats = [
        _chat("just-now", datetime(2025, 3, 31, 14)),
        _chat("first-second", datetime(2025, 3, 31)),
        _chat("last-of-yesterday", datetime(2025, 3, 30, 23, 59, 59)),
        _chat("first-of-yesterday", datetime(2025, 3, 30)),
        _chat("two-days", datetime(2025, 3, 29, 23, 59)),
        _chat("seven-days", datetime(2025, 3, 24)),
        _chat("eight-days", datetime(2025, 3, 23, 23, 59)),
        _chat("thirty-days", datetime(2025, 3, 1)),
        _chat("february", datetime(2025, 2, 28, 23, 59)),
        _chat("too", datetime(2025, 2, 1)),
        _chat("january", datetime(2025, 1, 31)),
        _chat("year-before", datetime(2024, 2, 29)),
    ]
    assert _grouped(*chats) == [
        (Group(P.TODAY), "just-now first-second"),
        (Group(P.YESTERDAY), "last-of-yesterday first-of-yesterday"),
        (Group(P.WEEK), "two-days seven-days"),
        (Group(P.THIRTY_DAYS), "eight-days thirty-days"),
        (Group(P.MONTH, 2025, 2), "february too"),
        (Group(P.MONTH, 2025, 1), "january"),
        (Group(P.MONTH, 2024, 2), "year-before"),
    ]


def test_pinned_chats_stand_first_whatever_their_day() -> None:
    old, new = datetime(2020, 1, 1), datetime(2025, 3, 31, 9)
    assert _grouped(_chat("a", new), _chat("b", old, pinned=True), _chat("c", new, pinned=True)) == [
        (Group(P.PINNED), "c b"),
        (Group(P.TODAY), "a"),
    ]


def test_newest_first_and_in_the_given_order_within_a_second() -> None:
    noon = datetime(2025, 3, 31, 12).timestamp()
    assert _grouped(_chat("a", noon), _chat("b", noon), _chat("c", noon + 1)) == [(Group(P.TODAY), "c a b")]


@pytest.mark.parametrize(
    ("changes", "before", "after"),
    [
        (date(2025, 3, 30), datetime(2025, 3, 30, 0, 30), datetime(2025, 3, 29, 23, 30)),  # 23 hours long
        (date(2025, 10, 26), datetime(2025, 10, 26, 0, 30), datetime(2025, 10, 25, 23, 30)),  # 25 hours long
    ],
)
def test_day_of_a_clock_change_is_one_day(
    in_zone: Callable[[str], None], changes: date, before: datetime, after: datetime
) -> None:
    in_zone("Europe/Berlin")
    following = date.fromordinal(changes.toordinal() + 1)
    assert _grouped(_chat("that-day", before), _chat("day-before", after), today=following) == [
        (Group(P.YESTERDAY), "that-day"),
        (Group(P.WEEK), "day-before"),
    ]


def test_same_moment_is_another_day_elsewhere(in_zone: Callable[[str], None]) -> None:
    moment = 1743379200.0  # 2025-03-31 00:00 UTC
    in_zone("Asia/Tehran")
    assert _grouped(_chat("a", moment)) == [(Group(P.TODAY), "a")]
    in_zone("America/New_York")
    assert _grouped(_chat("a", moment)) == [(Group(P.YESTERDAY), "a")]


def test_times_that_no_calendar_knows_break_nothing() -> None:
    chats = [_chat(str(when), when) for when in (math.inf, 1e300, -math.inf, -1e300, math.nan)]
    shown = _grouped(*chats)
    assert sorted(name for _, names in shown for name in names.split()) == sorted(c.id for c in chats)
    assert shown[0] == (Group(P.TODAY), "inf 1e+300")
    assert len({group for group, _ in shown}) == len(shown), "no heading comes twice"
