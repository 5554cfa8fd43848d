"""The gauges over the last minutes, with a clock that is told the time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtWidgets import QApplication

from app.services.gauge_history import MOST_SAMPLES, SPAN_S, GaugeHistory
from engine.protocol import Gauges, LoadProgress


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def _gauges(tps: float | None, used: int = 0, cells: int = 8192) -> Gauges:
    return Gauges(tps, None, None, used, cells, None, None, 1, ())


def _history(*measured: tuple[float, float | None]) -> GaugeHistory:
    clock = Clock()
    history = GaugeHistory(clock)
    for at, tps in measured:
        clock.now = at
        history.take(_gauges(tps))
    return history


def test_speeds_are_means_of_each_second_and_gaps_where_nothing_was_decoded(qapp: QApplication) -> None:
    history = _history(
        (1000.0, 40.0), (1000.5, 44.0), (1001.0, 50.0), (1002.0, None), (1003.0, None), (1004.0, 20.0)
    )
    assert history.speeds(6, 6) == (None, 42.0, 50.0, None, None, 20.0)


def test_slow_model_leaves_no_gaps_between_its_measurements(qapp: QApplication) -> None:
    history = _history((1000.0, 0.5), (1002.0, 0.5), (1004.0, 0.5))
    assert history.speeds(5, 5) == (0.5, 0.5, 0.5, 0.5, 0.5)


def test_measurement_does_not_hold_for_ever(qapp: QApplication) -> None:
    clock = Clock()
    history = GaugeHistory(clock)
    history.take(_gauges(40.0))
    clock.now += 10
    assert history.speeds(11, 11) == (40.0, 40.0, 40.0, *[None] * 8)


def test_what_is_no_number_is_a_gap(qapp: QApplication) -> None:
    history = _history((1000.0, math.nan), (1001.0, math.inf), (1002.0, 7.0))
    assert history.speeds(3, 3) == (None, None, 7.0)


def test_fill_is_a_share_of_the_cells_and_a_gap_without_cells(qapp: QApplication) -> None:
    clock = Clock()
    history = GaugeHistory(clock)
    history.take(_gauges(None, 2048))
    clock.now += 1
    history.take(_gauges(None, 5, 0))
    assert history.fills(2, 2) == (0.25, None)


def test_history_is_bounded_in_time_and_number(qapp: QApplication) -> None:
    clock = Clock()
    history = GaugeHistory(clock)
    for _ in range(MOST_SAMPLES + 500):
        history.take(_gauges(40.0))
    assert len(history) == MOST_SAMPLES
    clock.now += SPAN_S + 1
    history.take(_gauges(41.0))
    assert len(history) == 1


def test_nothing_is_left_of_an_engine_that_is_gone(qapp: QApplication) -> None:
    history = _history((1000.0, 40.0))
    history.clear()
    assert len(history) == 0
    assert history.newest is None
    assert history.speeds(3, 3) == (None, None, None)


def test_only_gauges_are_kept_and_told(qapp: QApplication) -> None:
    history = _history()
    told: list[int] = []
    history.changed.connect(lambda: told.append(len(history)))
    history.take(LoadProgress(0.5))
    assert told == []
    history.take(_gauges(3.0))
    assert told == [1]
