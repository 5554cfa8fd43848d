"""The line at the bottom that is always there: speed, waiting time, memory, KV fill.

`Gauges` and `PrefillProgress` go in as the engine sends them, with the `CacheFill` of the open chat, the
model's loading and the speeds of the last minute; what was not measured reads "n/a". A press asks for the
memory panel. Promises: nothing moves while numbers change or the engine does something else: its words get
the room that the gauges leave. Nothing is painted that has not changed.
It knows nothing about how anything is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QMouseEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QWidget

from app.services.sights import CacheFill
from app.views import number_format
from app.views.cache_words import fill_in_words, parts_of
from app.views.engine_activity import Activity, EngineActivity, Phase, speed_template
from app.views.gauge_label import GaugeLabel, Look
from app.views.kv_gauge import KvGauge
from app.views.memory_gauge import memory_hint, memory_in_words
from app.views.pool_words import pool_in_words
from app.views.sparkline import Sparkline, Values
from app.views.tokens import UNIT
from engine.protocol import Gauges, ModelInfo, PrefillProgress

CURVE_S = 60
"""The curve shows so many seconds, a value for each."""

_TICK_MS = 1000
_PROGRESS_PX = 3


class StatusStrip(QFrame):
    """The gauges."""

    panel_requested = Signal()
    """Show where the memory is, or hide it again."""

    def __init__(self, parent: QWidget | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(parent)
        self.setObjectName("statusStrip")
        self.setAccessibleName(self.tr("Gauges"))
        self._gauges: Gauges | None = None
        self._fill: CacheFill | None = None
        self._total_memory: int | None = None
        self._engine = EngineActivity(clock)
        self._phase: Phase | None = None
        self._make_gauges()
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self._show_activity)
        self._arrange()
        self._show()

    # --- what is told -----------------------------------------------------------------------------

    def show_gauges(self, gauges: Gauges | None, fill: CacheFill | None = None) -> None:
        """The engine's newest numbers and what is known of the open chat; None when there is no engine."""
        self._gauges, self._fill = gauges, fill
        self._engine.measure(gauges)
        self._show()

    def show_fill(self, fill: CacheFill | None) -> None:
        """What the cache holds of the open chat; None where that is not known."""
        self._fill = fill
        self._show_kv()

    def show_prefill(self, progress: PrefillProgress | None) -> None:
        """How far the prompt of the open chat is read; None when it is not being read."""
        self._engine.read(progress)
        self._show_activity()

    def show_model(self, info: ModelInfo | None, loading: str | None) -> None:
        """The model that answers, and the path of the one being loaded."""
        self._engine.load(info, loading)
        self._show_activity()

    def show_load_progress(self, fraction: float) -> None:
        """How much of the model being loaded is loaded, 0 to 1."""
        self._engine.load_more(fraction)
        self._show_activity()

    def show_speeds(self, speeds: Values) -> None:
        """Tokens a second in each of the last `CURVE_S` seconds, oldest first; None for a gap."""
        self.curve.show_values(speeds)

    def show_total_memory(self, n_bytes: int) -> None:
        """How much memory this machine has."""
        self._total_memory = n_bytes
        self._show()

    def show_panel_open(self, is_open: bool) -> None:
        """Whether the memory panel is there."""
        self.bar.setChecked(is_open)

    # --- the widget -------------------------------------------------------------------------------

    def minimumSizeHint(self) -> QSize:
        """Gauges give way, so any width will do."""
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where there is no room for all, whole gauges give way, not parts of each."""
        super().resizeEvent(event)
        self.progress.setGeometry(0, 0, self.width(), _PROGRESS_PX)
        self._make_room()

    def event(self, event: QEvent) -> bool:
        """A gauge that has become wider may leave no room for another."""
        if event.type() is QEvent.Type.LayoutRequest:
            self._make_room()
        return super().event(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """All of the strip is as good as its button."""
        super().mouseReleaseEvent(event)
        if event.button() is Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.panel_requested.emit()

    def showEvent(self, event: QShowEvent) -> None:
        """What became of the figures meanwhile."""
        super().showEvent(event)
        self._show_activity()

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody sees the seconds pass."""
        super().hideEvent(event)
        self._tick.stop()

    def _make_gauges(self) -> None:
        token = self.tr("A token is a piece of text, about three quarters of an English word.")
        self.activity = GaugeLabel(
            self.tr("Speed"),
            self.tr("How fast the model writes, all replies together, in tokens a second. {0}").format(token),
            speed_template(),
            elides=True,
        )
        self.curve = Sparkline(self.tr("Speed over the last minute"), QSize(UNIT * 10, UNIT * 2))
        # A thin line on the upper edge: it takes no room from the gauges.
        self.progress = QProgressBar(self)
        self.progress.setTextVisible(False)
        self.progress.setRange(0, 1000)
        self.progress.setAccessibleName(self.tr("Progress"))
        self.progress.hide()
        hint = self.tr("How fast your text is read before the reply begins, in tokens a second. {0}")
        self.prompt = GaugeLabel(
            self.tr("Prompt speed"),
            hint.format(token),
            self.tr("prompt {0}").format(number_format.short_rate(8888.0)),
        )
        self.first = GaugeLabel(
            self.tr("First token"),
            self.tr("How long it took from sending to the first piece of the reply, in the last turn."),
            self.tr("first {0}").format(number_format.seconds(8880.0)),
        )
        self.memory = GaugeLabel(self.tr("Memory"), "", self.tr("RAM {0}").format(""))
        self.bar = KvGauge()
        self.bar.clicked.connect(self._ask_for_panel)

    def _ask_for_panel(self) -> None:
        self.bar.setChecked(not self.bar.isChecked())  # as it was: the panel says when it is open
        self.panel_requested.emit()

    def _arrange(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(UNIT * 2, UNIT // 2, UNIT, UNIT // 2)
        row.setSpacing(UNIT * 3 // 2)
        row.addWidget(self.activity)
        row.addWidget(self.curve)
        # What follows stands still whatever the engine is doing.
        row.addStretch(1)
        for gauge in (self.prompt, self.first, self.memory, self.bar):
            row.addWidget(gauge)

    def _make_room(self) -> None:
        """Show what fits, whatever the engine is doing: no gauge comes or goes with its words."""
        layout = self.layout()
        assert layout is not None  # made above
        margins, gap = layout.contentsMargins(), layout.spacing()
        room = self.width() - margins.left() - margins.right() - 2 * gap - self.bar.sizeHint().width()
        fits = True
        for gauge in (self.memory, self.first, self.prompt, self.curve):  # the most wanted first
            needed = gauge.sizeHint().width() + gap
            fits = fits and room - needed >= self.activity.least_width()
            if gauge is self.curve and self._phase in (Phase.READING, Phase.LOADING):
                fits = False  # the words are long
            if gauge.isHidden() is fits:  # only then: each change computes the layout again
                gauge.setVisible(fits)
            room -= needed if fits else 0
        self.activity.setMaximumWidth(max(room, self.activity.least_width()))

    # --- the words --------------------------------------------------------------------------------

    def _show(self) -> None:
        gauges = self._gauges
        tps, ttft = (gauges.prefill_tps, gauges.ttft_ms) if gauges else (None, None)
        self._show_activity()
        self._show_measured(self.prompt, self.tr("prompt {0}"), number_format.short_rate(tps))
        self._show_measured(self.first, self.tr("first {0}"), number_format.seconds(ttft))
        memory = memory_in_words(gauges, self._total_memory)
        self.memory.show_text(memory, Look.NOW if gauges else Look.PAST)
        self.memory.show_hint(memory_hint(gauges))
        self._show_kv()

    def _show_measured(self, gauge: GaugeLabel, words: str, value: str) -> None:
        """Of the newest turn; while it is not known yet, that of the last one stays and is past."""
        is_known = value != number_format.NOT_AVAILABLE
        stays = not is_known and self._gauges is not None and bool(gauge.text())
        text = gauge.text() if stays else words.format(value)
        gauge.show_text(text, Look.NOW if is_known else Look.PAST)

    def _show_activity(self) -> None:
        activity = self._engine.now()
        self.activity.show_text(activity.text, activity.look)
        self.activity.reserve(activity.template)  # not before: the old words would keep their room
        self._show_bar(activity)
        if activity.phase is not self._phase:
            self._phase = activity.phase
            self._make_room()
        is_needed = self._engine.is_running and self.isVisible()
        if is_needed != self._tick.isActive():
            self._tick.start() if is_needed else self._tick.stop()

    def _show_bar(self, activity: Activity) -> None:
        self.progress.setVisible(activity.fraction is not None)
        self.progress.setValue(round((activity.fraction or 0.0) * 1000))

    def _show_kv(self) -> None:
        parts = (fill_in_words(self._fill) if self._fill else "", pool_in_words(self._gauges))
        words = "; ".join(part for part in parts if part)
        self.bar.show_parts(parts_of(self._gauges, self._fill), words, is_running=self._engine.is_running)
