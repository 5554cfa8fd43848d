"""The parts of the gauges: the curve, the labels, the bar, the numbers."""

from __future__ import annotations

import math

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.services.memory_split import DeviceSplit, Part, Use
from app.views import number_format
from app.views.gauge_label import SPOKEN_EVERY_S, GaugeLabel, Look, SpokenText
from app.views.kv_gauge import KvGauge, KvParts
from app.views.memory_bar import MemoryBar, use_colour
from app.views.memory_words import device_rows, device_title
from app.views.sparkline import PAUSE_MS, Sparkline
from app.views.theme import apply_theme
from app.views.tokens import current_tokens
from tests.app.views.gauge_stage import (
    GIB,
    MIB,
    Clock,
    PaintCount,
    settle,
)


def test_curve_is_painted_four_times_a_second_at_most(qtbot: QtBot) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    curve = Sparkline("Speed", QSize(80, 16), page)
    page.show()
    settle()
    count = PaintCount(curve)
    for value in range(20):
        curve.show_values([float(value)] * 60)
        settle()
    assert count.n == 1
    qtbot.wait(PAUSE_MS + 100)
    assert count.n == 2  # the newest one, once
    assert curve.values == (19.0,) * 60
    qtbot.wait(PAUSE_MS + 100)
    assert count.n == 2


def test_curve_has_gaps_where_nothing_was_decoded(qtbot: QtBot) -> None:
    curve = Sparkline("Speed", QSize(62, 20))
    qtbot.addWidget(curve)
    curve.resize(62, 20)
    curve.show_values([*[40.0] * 20, *[None] * 20, *[40.0] * 20])
    image = curve.grab().toImage()
    line = QColor(current_tokens().accent).rgb()
    inked = [any(image.pixel(x, y) == line for y in range(10)) for x in range(62)]
    assert all(inked[3:19])
    assert not any(inked[23:40])
    assert all(inked[43:58])


def test_screen_reader_is_told_now_and_then_while_numbers_run(qapp: QApplication, clock: Clock) -> None:
    label = QLabel()
    spoken = SpokenText(label, clock)
    spoken.tell("1", is_running=True)
    spoken.tell("2", is_running=True)
    assert label.accessibleDescription() == "1"
    clock.now += SPOKEN_EVERY_S
    spoken.tell("3", is_running=True)
    assert label.accessibleDescription() == "3"
    spoken.tell("the end", is_running=False)
    assert label.accessibleDescription() == "the end"


def test_place_of_a_gauge_grows_for_a_longer_text_and_does_not_shrink_again(qapp: QApplication) -> None:
    label = GaugeLabel("Speed", "", "88 tok/s", elides=True)
    narrow = label.sizeHint().width()
    label.show_text("1 tok/s", Look.NOW)
    assert label.sizeHint().width() == narrow
    label.show_text("88,888 tok/s", Look.NOW)
    wide = label.sizeHint().width()
    assert wide > narrow
    label.reserve("88 tok/s")
    label.show_text("1 tok/s", Look.NOW)
    assert label.sizeHint().width() == wide
    label.show_text("8,888 tok/s", Look.NOW)
    label.reserve("8")  # too little for what it shows
    assert narrow < label.sizeHint().width() < wide


def test_bar_fills_from_the_leading_edge(qtbot: QtBot) -> None:
    bar = KvGauge()
    qtbot.addWidget(bar)
    bar.show_parts(KvParts(0, 4096, 0, 8192), "", is_running=False)
    bar.resize(bar.sizeHint())

    def inked() -> list[int]:
        image, accent = bar.grab().toImage(), QColor(current_tokens().accent).rgb()
        y = image.height() // 2
        return [x for x in range(image.width()) if image.pixel(x, y) == accent]

    from_left = inked()
    bar.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    from_right = inked()
    assert len(from_left) == len(from_right) > 30
    assert from_left == [bar.width() - 1 - x for x in reversed(from_right)]


def test_numbers_as_people_read_them() -> None:
    assert [number_format.duration(value) for value in (-1, 0.4, 12.2, 99.4, 100, 3600, 7500)] == [
        "0 s",
        "0 s",
        "12 s",
        "99 s",
        "2 min",
        "60 min",
        "2 h 5 min",
    ]
    assert number_format.short_rate(380.4) == "380/s"
    assert number_format.short_rate(None) == number_format.short_rate(math.nan) == "n/a"
    assert number_format.part(412 * MIB, 16 * GIB) == "0.4/16.0 GiB"
    assert number_format.part(300 * GIB, 512 * GIB) == "300/512 GiB"
    assert number_format.part(5, 0) == number_format.part(5, -1) == "n/a"


def test_more_than_there_is_is_told() -> None:
    split = DeviceSplit("CUDA0", "", 100 * MIB, (Part(Use.WEIGHTS, 130 * MIB), Part(Use.FREE, 0)))
    assert device_title(split) == "CUDA0: 100 MiB"
    assert [(row.name, row.figure) for row in device_rows(split, None)] == [
        ("weights", "130 MiB"),
        ("free", "0 MiB"),
        ("more than there is", "30 MiB"),
    ]


def test_pieces_fill_the_bar_in_proportion_and_small_ones_are_seen(qtbot: QtBot) -> None:
    bar = MemoryBar()
    qtbot.addWidget(bar)
    parts = (
        Part(Use.WEIGHTS, 500 * MIB),
        Part(Use.KV, 1),
        Part(Use.OTHERS, 250 * MIB),
        Part(Use.FREE, 250 * MIB - 1),
    )
    bar.show_split(DeviceSplit("", "", 1000 * MIB, parts))
    bar.resize(1000, 20)
    assert [(use, piece.left(), piece.width()) for use, piece in bar.pieces()] == [
        (Use.WEIGHTS, 0, 500),
        (Use.KV, 500, 3),
        (Use.OTHERS, 503, 250),
        (Use.FREE, 753, 247),
    ]
    bar.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    image = bar.grab().toImage()
    assert image.pixelColor(990, 2) == use_colour(Use.WEIGHTS)
    assert image.pixelColor(10, 2) == use_colour(Use.FREE)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_uses_have_different_colours(qapp: QApplication, theme: str) -> None:
    apply_theme(qapp, theme)
    uses = [use for use in Use if use is not Use.SOMEBODY]  # stands in the place of others
    assert len({use_colour(use).name() for use in uses}) == len(uses)
    apply_theme(qapp, "light")
