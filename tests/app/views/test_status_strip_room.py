"""The strip: what it costs, what gives way where there is no room, and its keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest

from app.views.gauge_label import GaugeLabel
from app.views.kv_gauge import KvGauge
from app.views.status_strip import StatusStrip
from engine.protocol import PrefillProgress
from tests.app.views.gauge_stage import (
    CARD,
    FILL,
    GAUGES,
    GIB,
    IDLE,
    INFO,
    SILENT,
    PaintCount,
    gauges_of,
    settle,
)

# --- what it costs ------------------------------------------------------------------------------------


def test_nothing_is_painted_while_nothing_changes(strip: StatusStrip) -> None:
    speeds = [*[None] * 30, *[41.0] * 30]

    def tell() -> None:
        strip.show_gauges(GAUGES, FILL)
        strip.show_speeds(speeds)
        strip.show_fill(FILL)
        strip.show_model(INFO, None)
        settle()

    tell()
    tell()
    count = PaintCount(*gauges_of(strip))
    for _ in range(20):
        tell()
    assert count.n == 0
    strip.show_gauges(dataclasses.replace(GAUGES, decode_tps=12.0), FILL)
    settle()
    assert count.n == 1  # the speed alone


def test_hidden_strip_has_no_timer_and_paints_nothing(strip: StatusStrip) -> None:
    strip.show_prefill(PrefillProgress(1, 2100, 6000))
    count = PaintCount(*gauges_of(strip))
    strip.hide()
    strip.show_speeds([1.0] * 60)
    strip.show_gauges(GAUGES, FILL)
    settle()
    assert count.n == 0
    assert not strip._tick.isActive()
    strip.show()
    assert strip._tick.isActive()
    strip.show_prefill(None)
    strip.show_gauges(IDLE)
    assert not strip._tick.isActive()  # nothing is expected


def test_numbers_do_not_move_their_neighbours(strip: StatusStrip) -> None:
    strip.show_total_memory(16 * GIB)

    def places() -> list[QRect]:
        settle()
        return [gauge.geometry() for gauge in gauges_of(strip)]

    strip.show_gauges(GAUGES, FILL)
    before = places()
    for tps, prompt, ttft, used in ((1.1, 1.0, 10.0, 0), (99.9, 8888.0, 99_000.0, 8192), (None, 0.0, 1.0, 7)):
        strip.show_gauges(
            dataclasses.replace(GAUGES, decode_tps=tps, prefill_tps=prompt, ttft_ms=ttft, kv_cells_used=used)
        )
        assert places() == before
    strip.show_prefill(PrefillProgress(1, 0, 6000, None))
    before = places()
    strip.show_prefill(PrefillProgress(1, 5999, 6000, 88.0))
    assert places() == before


# --- room and keys ------------------------------------------------------------------------------------


def test_narrow_strip_drops_whole_gauges(show_strip: Callable[[int], StatusStrip]) -> None:
    strip = show_strip(1200)
    strip.show_total_memory(16 * GIB)
    strip.show_gauges(GAUGES)
    settle()
    assert not any(gauge.isHidden() for gauge in gauges_of(strip) if gauge is not strip.progress)
    strip.resize(460, 36)
    settle()
    assert strip.prompt.isHidden()
    assert strip.first.isHidden()
    assert not strip.activity.isHidden()
    assert strip.bar.width() >= strip.bar.minimumSizeHint().width()
    assert strip.rect().contains(strip.bar.geometry())
    strip.resize(1200, 36)
    settle()
    assert not strip.prompt.isHidden()


LONG = "/models/a-model-with-a-very-long-name-that-nobody-could-ever-read-in-one-line-Q4_K_M.gguf"


@pytest.mark.parametrize(("width", "n_missing"), [(880, 0), (660, 1)])
def test_gauges_stay_where_they_are_whatever_the_engine_does(
    show_strip: Callable[[int], StatusStrip], width: int, n_missing: int
) -> None:
    strip = show_strip(width)
    gauges = (strip.prompt, strip.first, strip.memory, strip.bar)
    strip.show_total_memory(16 * GIB)

    def places() -> list[QRect]:
        settle()
        return [gauge.geometry() for gauge in gauges if gauge.isVisible()]

    strip.show_gauges(GAUGES, FILL)
    before = places()
    assert len(before) == 4 - n_missing
    strip.show_gauges(IDLE, FILL)
    strip.show_model(INFO, LONG)
    assert places() == before
    strip.show_prefill(PrefillProgress(1, 123_456, 234_567, 124.0))
    assert places() == before
    strip.show_prefill(None)
    strip.show_model(INFO, None)
    assert places() == before
    assert strip.activity.width() == strip.activity.least_width()  # not as wide as the words before


def test_words_that_are_cut_are_whole_in_the_tip(show_strip: Callable[[int], StatusStrip]) -> None:
    strip = show_strip(660)
    strip.show_gauges(IDLE, FILL)
    strip.show_prefill(PrefillProgress(1, 123_456, 234_567, 124.0))
    settle()
    assert strip.activity.width() < strip.activity.sizeHint().width()
    assert "reading 123,456 of 234,567 tokens, 2 min left" in strip.activity.toolTip()


def test_strip_keeps_its_parts_inside_at_every_width(strip: StatusStrip) -> None:
    strip.show_gauges(dataclasses.replace(GAUGES, devices=(CARD, SILENT)), FILL)
    for width in range(320, 1000, 40):
        strip.resize(width, 36)
        settle()
        shown = [gauge for gauge in gauges_of(strip) if gauge.isVisible()]
        assert all(strip.rect().contains(gauge.geometry()) for gauge in shown), width


def test_panel_is_asked_for_by_key_and_by_a_press_anywhere(strip: StatusStrip) -> None:
    asked: list[None] = []
    strip.panel_requested.connect(lambda: asked.append(None))
    strip.bar.setFocus()
    QTest.keyClick(strip.bar, Qt.Key.Key_Space)
    assert len(asked) == 1
    assert not strip.bar.isChecked()  # the panel says when it is open
    QTest.mouseClick(strip.bar, Qt.MouseButton.LeftButton)
    QTest.mouseClick(strip.memory, Qt.MouseButton.LeftButton)
    QTest.mouseClick(strip, Qt.MouseButton.LeftButton)
    assert len(asked) == 4
    QTest.mouseClick(strip, Qt.MouseButton.RightButton)
    assert len(asked) == 4
    strip.show_panel_open(True)
    assert strip.bar.isChecked()


def test_every_gauge_has_a_name_and_a_tip(strip: StatusStrip) -> None:
    assert all(gauge.accessibleName() for gauge in gauges_of(strip))
    labels = [gauge for gauge in gauges_of(strip) if isinstance(gauge, GaugeLabel | KvGauge)]
    assert all(len(label.toolTip()) > 30 for label in labels)
    strip.show_gauges(GAUGES)
    strip.show_gauges(IDLE)
    assert strip.activity.accessibleDescription() == "last 41.2 tok/s"
