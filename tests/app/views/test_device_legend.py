"""The legend of a device: what is painted again, how large it is, what a screen reader is told."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject, QRect
from PySide6.QtGui import QPaintEvent
from pytestqt.qtbot import QtBot

from app.services.memory_split import Use
from app.views.device_legend import DeviceLegend
from app.views.memory_words import Row
from tests.app.conftest import settle


def rows(kv: str, free: str, planned: str = "") -> list[Row]:
    return [
        Row("weights", "93 MiB", Use.WEIGHTS, 93),
        Row("KV cache", kv, Use.KV, 1, planned),
        Row("free", free, Use.FREE, 2),
    ]


class Painted(QObject):
    """What of a widget was painted."""

    def __init__(self, legend: DeviceLegend) -> None:
        super().__init__(legend)
        self.rects: list[QRect] = []
        legend.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.rects.append(event.rect())
        return False


@pytest.fixture
def legend(qtbot: QtBot) -> DeviceLegend:
    legend = DeviceLegend()
    qtbot.addWidget(legend)
    legend.show_rows(rows("90 MiB", "8.0 GiB"))
    legend.resize(300, legend.sizeHint().height())
    legend.show()
    settle()
    return legend


def test_only_rows_that_changed_are_painted(legend: DeviceLegend) -> None:
    painted = Painted(legend)
    legend.show_rows(rows("45 MiB", "8.0 GiB"))
    settle()
    line = legend.height() // 3
    assert painted.rects == [QRect(0, line, 300, line)]
    painted.rects.clear()
    legend.show_rows(rows("45 MiB", "8.0 GiB"))
    settle()
    assert painted.rects == []


def test_all_is_painted_where_the_columns_move(legend: DeviceLegend) -> None:
    painted = Painted(legend)
    legend.show_rows(rows("1,234,567 MiB", "8.0 GiB"))
    settle()
    assert painted.rects == [legend.rect()]


def test_size_follows_the_number_of_rows_and_nothing_else(legend: DeviceLegend) -> None:
    before = legend.sizeHint()
    legend.show_rows(rows("1,234,567 MiB", "8.0 GiB"))
    assert legend.sizeHint() == before
    legend.show_rows(rows("90 MiB", "8.0 GiB", planned="91 MiB"))
    assert legend.sizeHint().height() * 3 == before.height() * 4  # with headings


def test_screen_reader_is_told_all_rows(legend: DeviceLegend) -> None:
    legend.show_rows(rows("90 MiB", "8.0 GiB", planned="91 MiB"))
    assert legend.accessibleName().splitlines() == [
        "weights: 93 MiB (93 bytes)",
        "KV cache: 90 MiB (1 bytes), planned 91 MiB",
        "free: 8.0 GiB (2 bytes)",
    ]


def test_narrow_legend_cuts_names_and_no_figure(legend: DeviceLegend) -> None:
    legend.resize(110, legend.height())
    name, _planned, figure = legend._columns()
    assert figure[0] + figure[1] <= 110
    assert 0 <= name[1] < 60
