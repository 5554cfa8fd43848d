"""One device of the memory panel: its name, its bar, the legend in figures.

A `DeviceSplit` goes in. Knows nothing about where the figures come from.
"""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.services.memory_split import DeviceSplit
from app.views.device_legend import DeviceLegend
from app.views.leading_label import LeadingLabel
from app.views.memory_bar import MemoryBar
from app.views.memory_words import device_rows, device_title
from app.views.tokens import UNIT


class DeviceSection(QWidget):
    """Who has the memory of one device."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = LeadingLabel()
        self.title.setWordWrap(True)
        self.bar = MemoryBar()
        self.legend = DeviceLegend()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT // 2)
        for part in (self.title, self.bar, self.legend):
            column.addWidget(part)

    def show_split(self, split: DeviceSplit, n_cells: int | None, planned: DeviceSplit | None = None) -> None:
        """Show the device; `n_cells` of the KV cache; `planned` is how it was expected to be."""
        self.title.setText(device_title(split))
        self.bar.show_split(split)
        self.legend.show_rows(device_rows(split, n_cells, planned))
