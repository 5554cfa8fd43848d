"""What the tests of the gauges have in common: values, a clock that is told the time, a count of repaints."""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget

from app.services.sights import CacheFill
from app.views.status_strip import StatusStrip
from engine.protocol import DeviceMemory, Gauges
from tests.app.scripted_engine import model_info

MIB, GIB = 2**20, 2**30
GAUGES = Gauges(41.23, 380.4, 210.0, 5300, 8192, 122 * MIB, 180 * MIB, 412 * MIB, ())
IDLE = dataclasses.replace(GAUGES, decode_tps=None)
CARD = DeviceMemory("CUDA0", "", "gpu", 3 * GIB, 8 * GIB)
SILENT = DeviceMemory("CUDA1", "", "gpu", None, None)
FILL = CacheFill(138, 5210, 8192, False, None, n_system=42, n_pinned=96, n_chat=31_877)
INFO = model_info("/models/starter.gguf")


class Clock:
    """Tells the time that it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class PaintCount(QObject):
    """Counts how often widgets are painted."""

    def __init__(self, *widgets: QWidget) -> None:
        super().__init__()
        self.n = 0
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.n += event.type() is QEvent.Type.Paint
        return super().eventFilter(watched, event)


def gauges_of(strip: StatusStrip) -> list[QWidget]:
    return [strip.activity, strip.curve, strip.prompt, strip.first, strip.memory, strip.bar, strip.progress]


def settle() -> None:
    for _ in range(6):
        QApplication.processEvents()
