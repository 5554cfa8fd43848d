"""Gauges on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.views.status_strip import StatusStrip
from tests.app.views.gauge_stage import Clock, settle


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def show_strip(qtbot: QtBot, clock: Clock) -> Iterator[Callable[[int], StatusStrip]]:
    """Shows a strip of this width."""
    pages: list[QWidget] = []

    def show(width: int) -> StatusStrip:
        page = QWidget()
        pages.append(page)
        qtbot.addWidget(page)
        strip = StatusStrip(page, clock)
        strip.resize(width, 36)
        page.resize(width, 60)
        page.show()
        settle()
        return strip

    yield show
    pages.clear()


@pytest.fixture
def strip(show_strip: Callable[[int], StatusStrip]) -> StatusStrip:
    return show_strip(900)
