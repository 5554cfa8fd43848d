"""The memory panel: what it shows, how it is opened and closed, what it costs while it is hidden."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.services.gauge_history import GaugeHistory
from app.services.machine_memory import MachineMemory
from app.services.sights import CacheFill
from app.views.memory_panel import MemoryPanel
from engine.protocol import DeviceBuffers, DeviceMemory, Gauges
from tests.app.scripted_engine import STATS, model_info
from tests.app.views.gauge_stage import PaintCount, settle

MIB = 2**20
MACHINE = MachineMemory(15_872 * MIB, 11_000 * MIB)
CARD = DeviceMemory("CUDA0", "RTX <4060>", "gpu", 1200 * MIB, 8188 * MIB)
GAUGES = Gauges(41.2, 380.0, 210.0, 5300, 8192, 122 * MIB, 180 * MIB, 432 * MIB, (), 120 * MIB)
INFO = dataclasses.replace(
    model_info("/models/m.gguf"), buffers=(DeviceBuffers("CPU", 93 * MIB, 180 * MIB, 36 * MIB),)
)
TURN = dataclasses.replace(
    STATS, tokens_reused=5348, tokens_prefilled=24, tokens_evicted=512, reevaluated_because="edited message 4"
)
FILL = CacheFill(138, 5210, 8192, False, TURN, n_system=42, n_pinned=96, n_chat=31_877)


class Page(QWidget):
    """A window with something to write in, its own Escape, and the panel."""

    def __init__(self, read_machine: Callable[[], MachineMemory]) -> None:
        super().__init__()
        self.history = GaugeHistory()
        self.edit = QLineEdit()
        self.edit.setAccessibleName("Message")
        self.panel = MemoryPanel(self.history, read_machine)
        self.escapes: list[None] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.edit)
        column.addStretch(1)
        column.addWidget(self.panel)
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self, lambda: self.escapes.append(None))
        self.setMinimumSize(320, 200)  # as the real window: not what its parts ask for
        self.resize(900, 600)


class Reading:
    """Counts how often the machine's memory is read."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self) -> MachineMemory:
        self.n += 1
        return MACHINE


@pytest.fixture
def reading() -> Reading:
    return Reading()


@pytest.fixture
def page(qtbot: QtBot, reading: Reading) -> Iterator[Page]:
    page = Page(reading)
    qtbot.addWidget(page)
    page.show()
    page.activateWindow()
    page.edit.setFocus()
    settle()
    yield page


def _fill(page: Page) -> None:
    page.history.take(GAUGES)
    page.panel.show_model(INFO, 812.0)
    page.panel.show_fill(FILL)


# --- what it shows ------------------------------------------------------------------------------------


def test_all_of_it_can_be_copied_as_plain_lines(page: Page) -> None:
    _fill(page)
    page.panel.open_panel()
    page.panel.copy_button.click()
    assert QGuiApplication.clipboard().text().splitlines() == [
        "Where the memory is",
        "This computer's memory: 15.5 GiB",
        "  weights: 93 MiB (97,517,568 bytes)",
        "  KV cache, 8,192 cells: 180 MiB (188,743,680 bytes)",
        "  buffers for computing: 36 MiB (37,748,736 bytes)",
        "  rest of the engine: 123 MiB (128,974,848 bytes)",
        "  other programs: 4.5 GiB (4,781,506,560 bytes)",
        "  free: 10.6 GiB (11,408,506,880 bytes)",
        "",
        "What the model sees",
        "42 system + 96 pinned + 5,210 recent tokens of 31,877 in this chat",
        "It does not see 26,529 older tokens: what stands above the line in the chat.",
        "2,892 of 8,192 cells are free.",
        "",
        "This turn",
        "5,348 reused, 24 read, 512 evicted, no shift; read again: edited message 4",
        "",
        "Who has the cells",
        "all together, shared cells once: 5,300 of 8,192",
        "",
        "Speed",
        "writing now: 41.2 tok/s",
        "reading the prompt: 380 tok/s",
        "first token after: 0.21 s",
        "model loaded in: 0.81 s",
        "threads that compute: n/a",
    ]
    assert page.panel.copy_button.text() == "Copied"


def test_without_a_model_it_says_what_to_do_and_claims_nothing(page: Page) -> None:
    page.panel.open_panel()
    lines = page.panel.picture.plain_text().splitlines()
    assert "No model is loaded: choose one above." in lines
    assert "No reply yet since the model was loaded." in lines
    assert [line for line in lines if line.endswith("n/a")] == [
        "all together: n/a",
        "writing now: n/a",
        "reading the prompt: n/a",
        "first token after: n/a",
        "model loaded in: n/a",
        "threads that compute: n/a",
    ]


def test_what_is_no_number_reads_not_available(page: Page) -> None:
    odd = dataclasses.replace(GAUGES, decode_tps=math.nan, prefill_tps=math.inf, ttft_ms=None, kv_cells=0)
    page.history.take(odd)
    page.panel.open_panel()
    text = page.panel.picture.plain_text()
    assert "nan" not in text.lower()
    assert "inf" not in text.lower()
    assert "cells are free" not in text


def test_devices_come_and_go_with_the_model(page: Page) -> None:
    _fill(page)
    page.panel.open_panel()
    second = DeviceMemory("CUDA1", "Old card", "gpu", None, None)
    page.history.take(dataclasses.replace(GAUGES, devices=(CARD, second)))
    page.panel.refresh()
    titles = [section.title.text() for section in page.panel.picture.devices]
    assert titles == [
        "CUDA0, RTX <4060>: 8.0 GiB",
        "CUDA1, Old card: n/a",
        "This computer's memory: 15.5 GiB",
    ]
    assert "  free: n/a" in page.panel.picture.plain_text().splitlines()
    page.history.clear()
    page.panel.show_model(None)
    page.panel.refresh()
    settle()
    assert len(page.panel.picture.devices) == 1
    assert "engine" not in page.panel.picture.plain_text()


def test_selection_is_not_taken_away_by_newer_figures(page: Page) -> None:
    _fill(page)
    page.panel.open_panel()
    seen = page.panel.picture.seen
    seen.setSelection(0, 9)
    page.panel.show_fill(dataclasses.replace(FILL, n_window=6000))
    page.panel.refresh()
    assert seen.selectedText() == "42 system"
    seen.setSelection(0, 0)
    page.panel.refresh()
    assert "6,000 recent" in seen.text()


def test_names_of_devices_are_shown_as_they_are(page: Page) -> None:
    page.panel.show_fill(
        dataclasses.replace(FILL, last_turn=dataclasses.replace(TURN, reevaluated_because="<b>&"))
    )
    page.panel.open_panel()
    assert "read again: &lt;b&gt;&amp;" in page.panel.picture.turn.text()


# --- opening and closing ------------------------------------------------------------------------------


def test_panel_takes_the_focus_and_gives_it_back(page: Page) -> None:
    told: list[bool] = []
    page.panel.opened.connect(told.append)
    page.panel.toggle()
    assert page.panel.isVisible()
    assert QApplication.focusWidget() is page.panel.close_button
    QTest.keyClick(page.panel.close_button, Qt.Key.Key_Escape)
    assert page.panel.isHidden()
    assert page.escapes == []  # Esc was the panel's
    assert QApplication.focusWidget() is page.edit
    page.panel.toggle()
    page.panel.close_button.click()
    assert told == [True, False, True, False]


def test_escape_elsewhere_is_the_windows(page: Page) -> None:
    page.panel.open_panel()
    page.edit.setFocus()
    QTest.keyClick(page.edit, Qt.Key.Key_Escape)
    assert len(page.escapes) == 1
    assert page.panel.isVisible()
    page.panel.toggle()
    assert QApplication.focusWidget() is page.edit


def test_hidden_panel_reads_nothing(page: Page, reading: Reading, qtbot: QtBot) -> None:
    _fill(page)
    page.history.take(GAUGES)
    qtbot.wait(1200)
    assert reading.n == 0
    page.panel.open_panel()
    qtbot.waitUntil(lambda: reading.n >= 2, timeout=3000)  # renewed while it is seen
    page.panel.close_panel()
    n = reading.n
    qtbot.wait(1200)
    assert reading.n == n


def test_nothing_is_painted_while_nothing_changes(page: Page) -> None:
    _fill(page)
    page.panel.open_panel()
    settle()
    page.panel.refresh()
    settle()

    picture = page.panel.picture
    device = picture.devices[0]
    count = PaintCount(picture.seen, picture.turn, picture.speed, device.bar, device.legend)
    for _ in range(10):
        page.panel.refresh()
        settle()
    assert count.n == 0


def test_panel_shows_all_where_there_is_room_and_scrolls_where_there_is_not(page: Page) -> None:
    _fill(page)
    page.panel.open_panel()
    page.panel.refresh()
    for width in (900, 700, 460):
        page.resize(width, 900)
        settle()
        assert page.panel.view.verticalScrollBar().maximum() == 0, width
        assert page.panel.picture.width() <= page.panel.view.viewport().width()
    page.resize(460, 250)
    settle()
    assert page.panel.view.verticalScrollBar().maximum() > 0
    assert page.rect().contains(page.panel.geometry())
    page.panel.view.setFocus()
    QTest.keyClick(page.panel.view, Qt.Key.Key_PageDown)
    assert page.panel.view.verticalScrollBar().value() > 0


def test_every_control_has_a_name(page: Page) -> None:
    panel = page.panel
    controls = (panel, panel.view, panel.copy_button, panel.close_button, panel.picture.curve.curve)
    assert all(control.accessibleName() for control in controls)
    _fill(page)
    panel.open_panel()
    assert panel.picture.devices[0].bar.accessibleName() == "This computer's memory: 15.5 GiB"
    assert "weights: 93 MiB" in panel.picture.devices[0].legend.accessibleName()
