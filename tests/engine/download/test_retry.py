"""How long to wait, and for what."""

from __future__ import annotations

import pytest

from engine.download.access import PATIENCE
from engine.download.retry import BackOff, Interrupted, passes, retry_after_s


def test_waits_double_up_to_a_minute() -> None:
    back_off = BackOff(PATIENCE)
    for expected in (1, 2, 4, 8, 16, 32, 60, 60, 60):
        assert back_off.after(Interrupted("")) == pytest.approx(expected, rel=0.2501)


def test_waits_are_not_the_same_for_all() -> None:
    assert len({BackOff(PATIENCE).after(Interrupted("")) for _ in range(10)}) > 1


def test_a_success_ends_the_row() -> None:
    back_off = BackOff(PATIENCE)
    for _ in range(5):
        back_off.after(Interrupted(""))
    back_off.succeeded()
    assert back_off.after(Interrupted("")) < 2


def test_what_is_tried_at_once_is_so_once() -> None:
    back_off = BackOff(PATIENCE)
    assert back_off.after(Interrupted("", at_once=True)) == 0
    assert back_off.after(Interrupted("", at_once=True)) == pytest.approx(1, rel=0.2501)


def test_a_server_that_wants_more_time_gets_it() -> None:
    back_off = BackOff(PATIENCE)
    assert back_off.after(Interrupted("", retry_after_s=3600)) == 3600
    assert BackOff(PATIENCE).after(Interrupted("", retry_after_s=0.0)) >= 0.75


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("7", 7), ("0", 0), ("", None), ("soon", None), ("-5", None), ("²", None)),
        *(("Thu, 01 Jan 1970 00:01:40 GMT", 90), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 99 Jan", None)),
    ],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    assert retry_after_s({"Retry-After": text}, now=10) == seconds


def test_which_refusals_pass() -> None:
    assert [status for status in range(400, 600) if passes(status)] == [408, 425, 429, *range(500, 600)]
