"""The strip: what it says for what the engine says, and how slow and stuck differ."""

from __future__ import annotations

import dataclasses
import math

import pytest
from pytestqt.qtbot import QtBot

from app.views.cache_words import fill_in_words, unseen_in_words
from app.views.engine_activity import STUCK_AFTER_S
from app.views.gauge_label import GaugeLabel, Look
from app.views.kv_gauge import KvParts
from app.views.status_strip import StatusStrip
from engine.protocol import DeviceMemory, PrefillProgress
from tests.app.scripted_engine import STATS
from tests.app.views.gauge_stage import (
    CARD,
    FILL,
    GAUGES,
    GIB,
    IDLE,
    INFO,
    SILENT,
    Clock,
    settle,
)


def _texts(strip: StatusStrip) -> list[str]:
    return [label.text() for label in (strip.activity, strip.prompt, strip.first, strip.memory)]


def _look(label: GaugeLabel) -> Look:
    return label.look


# --- what it says -------------------------------------------------------------------------------------


def test_gauges_say_what_the_engine_says(strip: StatusStrip) -> None:
    assert _texts(strip) == ["no model", "prompt n/a", "first n/a", "RAM n/a"]
    assert strip.bar.count() == "n/a"
    strip.show_total_memory(16 * GIB)
    strip.show_gauges(GAUGES)
    assert _texts(strip) == ["41.2 tok/s", "prompt 380/s", "first 0.21 s", "RAM 0.4/16.0 GiB"]
    assert strip.bar.count() == "5,300/8,192"
    strip.show_gauges(None)
    assert _texts(strip) == ["no model", "prompt n/a", "first n/a", "RAM n/a"]
    assert strip.bar.count() == "n/a"


def test_what_is_no_number_reads_not_available(strip: StatusStrip) -> None:
    strip.show_model(INFO, None)
    for nothing in (None, math.nan, math.inf):
        strip.show_gauges(
            dataclasses.replace(GAUGES, decode_tps=nothing, prefill_tps=nothing, ttft_ms=nothing, kv_cells=0)
        )
        assert _texts(strip) == ["speed n/a", "prompt n/a", "first n/a", "RAM 412 MiB"]
        assert strip.bar.count() == "n/a"
        assert strip.bar.parts.n_cells == 0


def test_last_speed_stays_and_is_told_as_past(strip: StatusStrip) -> None:
    strip.show_gauges(GAUGES)
    assert _look(strip.activity) is Look.NOW
    strip.show_gauges(IDLE)
    assert strip.activity.text() == "last 41.2 tok/s"
    assert _look(strip.activity) is Look.PAST


def test_speed_of_another_model_is_not_kept(strip: StatusStrip) -> None:
    strip.show_model(INFO, None)
    strip.show_gauges(GAUGES)
    strip.show_gauges(IDLE)
    strip.show_model(dataclasses.replace(INFO, name="other"), None)
    assert strip.activity.text() == "speed n/a"


def test_figures_of_the_last_turn_stay_as_past_until_the_new_ones_are_known(strip: StatusStrip) -> None:
    strip.show_gauges(GAUGES)
    strip.show_gauges(dataclasses.replace(GAUGES, prefill_tps=None, ttft_ms=None))
    assert (strip.prompt.text(), strip.first.text()) == ("prompt 380/s", "first 0.21 s")
    assert (strip.prompt.look, strip.first.look) == (Look.PAST, Look.PAST)
    strip.show_gauges(GAUGES)
    assert _look(strip.first) is Look.NOW


@pytest.mark.parametrize(
    ("devices", "text"),
    [
        ((CARD,), "VRAM 5.0/8.0 GiB"),
        ((CARD, dataclasses.replace(CARD, name="CUDA1", free=7 * GIB, total=24 * GIB)), "VRAM 22.0/32.0 GiB"),
        ((CARD, SILENT), "VRAM 5.0/8.0 GiB + n/a"),
        ((SILENT,), "VRAM n/a"),
        ((dataclasses.replace(CARD, free=0, total=0),), "VRAM n/a"),
        ((CARD, dataclasses.replace(CARD, name="Vulkan1", kind="igpu")), "VRAM 5.0/8.0 GiB"),
        ((dataclasses.replace(CARD, kind="igpu"),), "VRAM 5.0/8.0 GiB"),
        ((dataclasses.replace(CARD, kind="cpu"),), "RAM 412 MiB"),
    ],
)
def test_memory_is_the_cards_where_there_are_some(
    strip: StatusStrip, devices: tuple[DeviceMemory, ...], text: str
) -> None:
    strip.show_gauges(dataclasses.replace(GAUGES, devices=devices))
    assert strip.memory.text() == text


def test_tip_names_each_of_several_cards(strip: StatusStrip) -> None:
    strip.show_gauges(dataclasses.replace(GAUGES, devices=(CARD, SILENT)))
    assert "CUDA0: 5.0/8.0 GiB" in strip.memory.toolTip()
    assert "CUDA1: n/a" in strip.memory.toolTip()


def test_gauge_of_the_cache_says_its_parts_in_words(strip: StatusStrip) -> None:
    strip.show_gauges(IDLE, FILL)
    assert strip.bar.parts == KvParts(138, 5210, 0, 8192)
    words = "42 system + 96 pinned + 5,210 recent tokens of 31,877 in this chat"
    assert words in strip.bar.accessibleDescription()
    assert words in strip.bar.toolTip()
    strip.show_fill(None)
    assert strip.bar.parts == KvParts(0, 0, 5300, 8192)


def test_fill_in_words() -> None:
    turn = dataclasses.replace(STATS, tokens_reused=5, tokens_prefilled=24, shifted=True)
    fill = dataclasses.replace(FILL, n_sinks=142, last_turn=turn)
    assert fill_in_words(fill) == (
        "4 sink + 42 system + 96 pinned + 5,210 recent tokens of 31,877 in this chat; "
        "this turn: 5 reused, 24 read, 0 evicted, positions shifted"
    )
    assert unseen_in_words(FILL).startswith("It does not see 26,529 older tokens")
    assert unseen_in_words(dataclasses.replace(FILL, n_chat=5348)) == "It sees the whole chat."
    assert unseen_in_words(dataclasses.replace(FILL, n_chat=None)) == ""


# --- reading, loading, stuck --------------------------------------------------------------------------


def test_reading_a_prompt_shows_its_progress_and_the_time_left(strip: StatusStrip) -> None:
    strip.show_gauges(IDLE)
    strip.show_prefill(PrefillProgress(1, 2100, 6000, 12.2))
    assert strip.activity.text() == "reading 2,100 of 6,000 tokens, 12 s left"
    assert strip.progress.isVisible()
    assert strip.progress.value() == 350
    assert strip.curve.isHidden()
    strip.show_prefill(None)
    assert strip.activity.text() == "speed n/a"
    assert strip.progress.isHidden()
    assert strip.curve.isVisible()


@pytest.mark.parametrize("unknown", [None, math.nan, math.inf])
def test_time_left_that_is_not_known_is_left_out(strip: StatusStrip, unknown: float | None) -> None:
    strip.show_prefill(PrefillProgress(1, 0, 0, unknown))
    assert strip.activity.text() == "reading 0 of 0 tokens"
    assert strip.progress.value() == 0


def test_prompt_that_is_stuck_says_for_how_long(strip: StatusStrip, clock: Clock, qtbot: QtBot) -> None:
    strip.show_prefill(PrefillProgress(1, 2100, 6000, 12.2))
    clock.now += STUCK_AFTER_S - 0.1
    strip.show_prefill(PrefillProgress(1, 2100, 6000, 12.2))  # the same figure is no progress
    assert _look(strip.activity) is Look.NOW
    clock.now += 3.1
    expected = "no progress for 8 s: reading 2,100 of 6,000 tokens"
    qtbot.waitUntil(lambda: strip.activity.text() == expected, timeout=3000)  # by itself, within a second
    assert _look(strip.activity) is Look.STUCK
    strip.show_prefill(PrefillProgress(1, 2164, 6000, 30.0))
    assert strip.activity.text() == "reading 2,164 of 6,000 tokens, 30 s left"
    assert _look(strip.activity) is Look.NOW


def test_loading_shows_how_far_it_is_and_when_it_is_stuck(strip: StatusStrip, clock: Clock) -> None:
    strip.show_model(None, "/models/starter.gguf")
    strip.show_load_progress(0.426)
    assert strip.activity.text() == "loading starter, 42 %"
    assert strip.progress.value() == 426
    clock.now += 9
    strip.show_load_progress(0.426)
    assert strip.activity.text() == "no progress for 9 s: loading starter"
    strip.show_load_progress(1.0)
    assert strip.activity.text() == "loading starter, 100 %"
    strip.show_model(INFO, None)
    assert strip.activity.text() == "speed n/a"
    assert strip.progress.isHidden()


def test_reply_goes_before_the_model_that_is_loaded_beside_it(strip: StatusStrip) -> None:
    strip.show_model(INFO, "/models/other.gguf")
    strip.show_gauges(GAUGES)
    assert strip.activity.text() == "41.2 tok/s"
    strip.show_gauges(IDLE)
    assert strip.activity.text() == "loading other, 0 %"


def test_speed_is_not_told_as_present_when_nothing_comes_any_more(strip: StatusStrip, clock: Clock) -> None:
    strip.show_gauges(GAUGES)
    clock.now += 8
    strip.show_fill(None)
    strip.show_prefill(None)
    assert strip.activity.text() == "no progress for 8 s, last 41.2 tok/s"
    assert _look(strip.activity) is Look.STUCK
    strip.show_prefill(None)
    settle()
    assert strip.activity.width() >= strip.activity.fontMetrics().horizontalAdvance(strip.activity.text())
