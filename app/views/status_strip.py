"""The line at the bottom that is always there: speed, waiting time, memory, KV fill.

`Gauges` and `PrefillProgress` go in as the engine sends them, with the `CacheFill` of the open chat;
what was not measured reads "n/a". It knows nothing about how anything is measured.
"""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.services.sights import CacheFill
from app.views import number_format
from app.views.cache_words import fill_in_words, parts_of
from app.views.eliding_label import ElidingLabel
from app.views.kv_gauge import KvGauge
from app.views.tokens import UNIT
from engine.protocol import DeviceMemory, Gauges, PrefillProgress


class StatusStrip(QFrame):
    """The gauges."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("statusStrip")
        self._gauges: Gauges | None = None
        self._prefill: PrefillProgress | None = None
        self._fill: CacheFill | None = None
        self.decode = self._label(self.tr("Tokens a second while the model writes"))
        self.prompt = self._label(self.tr("Tokens of the prompt read a second, in the last turn"))
        self.first = self._label(self.tr("Time from sending to the first token, in the last turn"))
        self.memory = self._label(self.tr("Memory of the engine's process"))
        self.vram = self._label(self.tr("Memory of the graphics card, used and total"))
        self._kv_hint = self.tr("KV cache: what the model holds of the chats, in cells and memory")
        self.kv = self._label(self._kv_hint)
        self.bar = KvGauge()
        row = QHBoxLayout(self)
        row.setContentsMargins(UNIT * 2, UNIT // 2, UNIT * 2, UNIT // 2)
        row.setSpacing(UNIT * 2)
        for label in (self.decode, self.prompt, self.first, self.memory, self.vram):
            row.addWidget(label)
        row.addStretch(1)
        row.addWidget(self.bar)
        row.addWidget(self.kv)
        self._show()

    def show_gauges(self, gauges: Gauges | None, fill: CacheFill | None = None) -> None:
        """The engine's newest numbers and what is known of the open chat; None when there is no engine."""
        self._gauges, self._fill = gauges, fill
        self._show()

    def show_fill(self, fill: CacheFill | None) -> None:
        """What the cache holds of the open chat; None where that is not known."""
        self._fill = fill
        self._show_kv(self._gauges)

    def show_prefill(self, progress: PrefillProgress | None) -> None:
        """How far the prompt of the open chat is read; None when it is not being read."""
        self._prefill = progress
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where there is no room for all, whole gauges give way, not parts of each."""
        super().resizeEvent(event)
        self._make_room()

    def minimumSizeHint(self) -> QSize:
        """Gauges give way, so any width will do."""
        return QSize(0, super().minimumSizeHint().height())

    def _make_room(self) -> None:
        layout = self.layout()
        assert layout is not None  # made above
        least_wanted_first = (self.prompt, self.first, self.vram, self.memory, self.bar)
        for gauge in least_wanted_first:
            gauge.show()
        for gauge in least_wanted_first:
            if layout.sizeHint().width() <= self.width():
                return
            gauge.hide()

    def _label(self, hint: str) -> ElidingLabel:
        label = ElidingLabel()
        label.setProperty("muted", True)
        label.setToolTip(hint)
        return label

    def _show(self) -> None:
        gauges = self._gauges
        prompt, first, memory = (
            (gauges.prefill_tps, gauges.ttft_ms, gauges.rss_bytes) if gauges else (None, None, None)
        )
        self.decode.setText(self._activity())
        self.prompt.setText(self.tr("prompt {0}").format(number_format.rate(prompt)))
        self.first.setText(self.tr("first {0}").format(number_format.seconds(first)))
        self.memory.setText(self.tr("RAM {0}").format(number_format.size(memory)))
        self.vram.setText(self._vram(gauges.devices if gauges else ()))
        self._show_kv(gauges)
        self._make_room()

    def _activity(self) -> str:
        if self._prefill:
            done, total = f"{self._prefill.n_done:,}", f"{self._prefill.n_total:,}"
            return self.tr("reading {0} of {1} tokens").format(done, total)
        return self.tr("now {0}").format(
            number_format.rate(self._gauges.decode_tps if self._gauges else None)
        )

    def _vram(self, devices: tuple[DeviceMemory, ...]) -> str:
        cards = [device for device in devices if device.kind in ("gpu", "igpu")]
        if not cards:
            return self.tr("VRAM n/a")
        used = [None if None in (d.total, d.free) else (d.total or 0) - (d.free or 0) for d in cards]
        parts = [number_format.part(n, card.total) for n, card in zip(used, cards, strict=True)]
        return self.tr("VRAM {0}").format("  +  ".join(parts))

    def _show_kv(self, gauges: Gauges | None) -> None:
        words = fill_in_words(self._fill) if self._fill else ""
        self.bar.show_parts(parts_of(gauges, self._fill), words)
        self.kv.setToolTip(f"<qt>{words}</qt>" if words else self._kv_hint)
        if gauges is None or gauges.kv_cells <= 0:
            self.kv.setText(self.tr("KV n/a"))
            return
        cells = self.tr("KV {0} of {1}").format(f"{gauges.kv_cells_used:,}", f"{gauges.kv_cells:,}")
        memory = number_format.part(gauges.kv_bytes_used, gauges.kv_bytes)
        self.kv.setText(cells if memory == number_format.NOT_AVAILABLE else f"{cells}, {memory}")
