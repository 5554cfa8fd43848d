"""What the memory panel shows: sections in one, two or three columns, as there is room.

Splits of memory, the fill of the open chat and the history of the gauges go in. Knows nothing about where
they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QVBoxLayout, QWidget

from app.services.bandwidth_use import BandwidthUse
from app.services.gauge_history import SPAN_S, GaugeHistory
from app.services.memory_split import DeviceSplit
from app.services.sights import CacheFill
from app.views.device_section import DeviceSection
from app.views.memory_words import (
    Row,
    device_rows,
    device_title,
    seen_lines,
    speed_rows,
    turn_line,
    wall_rows,
)
from app.views.pool_words import pool_rows, threads_in_words
from app.views.selectable_text import SelectableText
from app.views.speed_curve import SpeedCurve
from app.views.tokens import UNIT
from engine.protocol import Gauges

_N_COLUMNS = 150
_TWO_COLUMNS = UNIT * 72
_THREE_COLUMNS = UNIT * 100
"""From these widths on."""


class MemoryPicture(QWidget):
    """The sections; the devices come and go with the model."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("memoryPicture")
        self.devices: list[DeviceSection] = []
        self._lines: dict[str, list[str]] = {}
        self.seen, self.turn, self.speed = SelectableText(), SelectableText(), SelectableText()
        self.pool = SelectableText()
        self.curve = SpeedCurve(round(SPAN_S / 60))
        self._device_column = QVBoxLayout()
        self._columns = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._of_the_chat = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._arrange()

    def show_memory(
        self, splits: Sequence[DeviceSplit], gauges: Gauges | None, planned: Sequence[DeviceSplit] = ()
    ) -> None:
        """Who has the memory of each device; `planned` is how it was expected to be."""
        expected = {split.name: split for split in planned}
        while len(self.devices) > len(splits):
            self.devices.pop().deleteLater()
        while len(self.devices) < len(splits):
            self.devices.append(DeviceSection())
            self._device_column.insertWidget(len(self.devices) - 1, self.devices[-1])
        n_cells = gauges.kv_cells if gauges else None
        lines = []
        for section, split in zip(self.devices, splits, strict=True):
            section.show_split(split, n_cells, expected.get(split.name))
            rows = device_rows(split, n_cells, expected.get(split.name))
            lines += [device_title(split), *(f"  {row.plain()}" for row in rows)]
        self._lines[self.tr("Where the memory is")] = lines

    def show_chat(self, fill: CacheFill | None, gauges: Gauges | None) -> None:
        """What the model sees of the open chat, and what its newest turn cost."""
        seen, turn = seen_lines(fill, gauges), [turn_line(fill)]
        self.seen.show_lines(seen)
        self.turn.show_lines(turn)
        self._lines[self.tr("What the model sees")] = seen
        self._lines[self.tr("This turn")] = turn

    def show_pool(self, gauges: Gauges | None, name_of: Callable[[str], str]) -> None:
        """Which chats have cells of the cache; `name_of` is what they are called by their ids."""
        rows = pool_rows(gauges, name_of)
        self.pool.show_rows(rows)
        self._lines[self.tr("Who has the cells")] = [row.plain() for row in rows]

    def show_speed(
        self, history: GaugeHistory, load_ms: float | None, use: BandwidthUse | None = None
    ) -> None:
        """Speeds and waiting times, and what they take of the memory's bandwidth."""
        threads = Row(self.tr("threads that compute"), threads_in_words(history.newest))
        rows = [*speed_rows(history.newest, load_ms), threads, *wall_rows(use)]
        self.curve.show_speeds(history.speeds(SPAN_S, _N_COLUMNS))
        self.speed.show_rows(rows)
        self._lines[self.tr("Speed")] = [row.plain() for row in rows]

    def plain_text(self) -> str:
        """All that is shown, as lines of text, with exact bytes."""
        return "\n\n".join("\n".join((title, *lines)) for title, lines in self._lines.items()) + "\n"

    def height_at(self, width: int) -> int:
        """How high all sections are in `width`."""
        self._set_columns(width)
        return self._columns.heightForWidth(width)

    def minimumSizeHint(self) -> QSize:
        """Any: the height is told by the width, and a layout's own least height is that of its narrowest."""
        return QSize(UNIT * 30, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """As many columns as there is room for."""
        super().resizeEvent(event)
        self._set_columns(self.width())

    def _set_columns(self, width: int) -> None:
        beside, below = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        has_three = width >= _THREE_COLUMNS
        self._columns.setDirection(beside if width >= _TWO_COLUMNS else below)
        self._columns.setStretch(1, 2 if has_three else 1)
        self._of_the_chat.setDirection(beside if has_three else below)
        self._of_the_chat.setStretch(0, int(has_three))

    def _arrange(self) -> None:
        self._device_column.setSpacing(UNIT)
        self._device_column.addStretch(1)
        chat, speed = QVBoxLayout(), QVBoxLayout()
        self._add(chat, self.tr("What the model sees"), self._seen_hint(), self.seen)
        chat.addSpacing(UNIT // 2)
        self._add(chat, self.tr("This turn"), self._turn_hint(), self.turn)
        chat.addSpacing(UNIT // 2)
        self._add(chat, self.tr("Who has the cells"), self._pool_hint(), self.pool)
        self._add(
            speed, self.tr("Speed"), self.tr("In tokens (pieces of words) a second"), self.curve, self.speed
        )
        for column in (chat, speed):
            column.setSpacing(UNIT // 2)
            column.addStretch(1)
            self._of_the_chat.addLayout(column, 1)
        self._of_the_chat.setSpacing(UNIT * 3)
        self._columns.setContentsMargins(0, 0, UNIT, 0)
        self._columns.setSpacing(UNIT * 3)
        self._columns.addLayout(self._device_column, 1)
        self._columns.addLayout(self._of_the_chat, 1)

    def _add(self, column: QVBoxLayout, title: str, hint: str, *parts: QWidget) -> None:
        heading = QLabel(title)
        heading.setProperty("strong", True)
        heading.setToolTip(f"<qt>{hint}</qt>")
        for part in (heading, *parts):
            column.addWidget(part)

    def _seen_hint(self) -> str:
        return self.tr(
            "A model reads a limited number of tokens (pieces of words) at once. The first ones (sinks), the "
            "system prompt and pinned messages stay; the oldest others leave when there is no more room."
        )

    def _pool_hint(self) -> str:
        return self.tr(
            "A cell keeps what the model noted of one token. Chats stay in the cache as long as there is "
            "room; what several begin with is kept once, for all of them."
        )

    def _turn_hint(self) -> str:
        return self.tr(
            "Reused: still in memory from the turn before. Read: new to the model. Evicted: left the memory "
            "to make room. Shift: what stayed was moved together, which takes a moment. Restored: came back "
            "from disk. Shared: read for another reply or chat. Drafts: tokens guessed ahead of the model, "
            "and how many of them were what it said."
        )
