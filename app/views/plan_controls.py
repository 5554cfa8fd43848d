"""What can be chosen before a model is loaded: context, KV type, layers on the graphics card.

A `PlanResult` goes in, choices come out as `LoadSettings` name them. Promises: showing never counts as
choosing, and slider and number never say two things. Knows nothing about what a choice costs.
"""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QStandardItemModel, QWheelEvent
from PySide6.QtWidgets import QGridLayout, QSlider, QWidget

from app.data.settings_parsing import ALL_LAYERS, MOST_LAYERS
from app.services.plan_result import PlanResult
from app.views.leading_label import LeadingLabel
from app.views.settings_controls import ChoiceBox, NumberBox
from app.views.settings_row import muted_label
from app.views.settings_words import kv_types
from app.views.tokens import UNIT
from engine.memory.kv_math import can_quantize
from engine.memory.memory_plan import MemoryPlan, said_n_ctx_train
from engine.models.model_facts import ModelFacts
from engine.protocol import KVType

SMALLEST_CONTEXT = 256
_LARGEST_CONTEXT = 2**31 - 1


class QuietSlider(QSlider):
    """The wheel scrolls the page, unless one is at work here."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Move only with the focus."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class PlanControls(QWidget):
    """Three rows: a name, a control, what there is to know."""

    chosen = Signal(str, object)
    """The name of a field of `LoadSettings` and its new value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stops: tuple[int, ...] = (SMALLEST_CONTEXT,)
        self.slider = QuietSlider(Qt.Orientation.Horizontal)
        self.slider.setPageStep(1)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.setAccessibleName(self.tr("Context, in steps"))
        self.context = NumberBox(1, _LARGEST_CONTEXT, doubling=True)
        self.context.setAccessibleName(self.tr("Context in tokens"))
        self.kv_type = ChoiceBox([(name, kind) for kind, (name, _) in kv_types().items()])
        self.kv_type.setAccessibleName(self.tr("KV cache type"))
        self.layers = NumberBox(0, MOST_LAYERS, below=self.tr("as many as fit"), unset=ALL_LAYERS)
        self.layers.setAccessibleName(self.tr("Layers on the graphics card"))
        self.kv_remark, self.layers_remark = muted_label(), muted_label()
        self._layers_label = LeadingLabel(self.tr("GPU layers"))
        self._arrange()
        self._connect()

    def show_plan(self, result: PlanResult) -> None:
        """Show what is planned; what the model cannot have is not offered."""
        facts, plan = result.facts, result.plan
        if facts is None or plan is None or result.hardware is None:
            return
        self._show_context(plan, is_said=said_n_ctx_train(facts.n_ctx_train) is not None)
        self._show_kv_type(facts, plan.kv_type)
        has_card = any(device.kind in ("gpu", "igpu") for device in result.hardware.devices)
        for widget in (self._layers_label, self.layers, self.layers_remark):
            widget.setVisible(has_card)
        if has_card:
            self._show_layers(result.wishes.n_gpu_layers, plan, facts.n_layers + 1)

    def _show_context(self, plan: MemoryPlan, *, is_said: bool) -> None:
        n_ctx, n_ctx_train = plan.n_ctx, plan.n_ctx_train
        self._stops = context_stops(n_ctx_train)
        _limit(self.context, max(n_ctx, n_ctx_train))
        self.context.show_value(n_ctx)
        self._show_stop(n_ctx)
        hint = (
            self.tr("Up to {0} tokens, which the model was trained for")
            if is_said
            else self.tr("Up to {0} tokens: the file does not say how many the model was trained for")
        ).format(f"{n_ctx_train:,}")
        for control in (self.slider, self.context):
            control.setToolTip(hint)
            control.setAccessibleDescription(self.tr("{0} tokens. {1}").format(f"{n_ctx:,}", hint))

    def _show_stop(self, n_ctx: int) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, len(self._stops) - 1)
            self.slider.setValue(max(0, sum(stop <= n_ctx for stop in self._stops) - 1))

    def _choose_stop(self, stop: int) -> None:
        self.context.show_value(self._stops[stop])
        self.chosen.emit("n_ctx", self._stops[stop])

    def _choose_context(self, n_ctx: int) -> None:
        self._show_stop(n_ctx)
        self.chosen.emit("n_ctx", n_ctx)

    def _show_kv_type(self, facts: ModelFacts, kv_type: KVType) -> None:
        items = self.kv_type.model()
        assert isinstance(items, QStandardItemModel)  # a combo box's own
        for row, kind in enumerate(kv_types()):
            items.item(row).setEnabled(kind is kv_type or can_quantize(facts, kind))
        self.kv_type.show_value(kv_type)
        self.kv_remark.setText(kv_types()[kv_type][1])

    def _show_layers(self, wished: int, plan: MemoryPlan, most: int) -> None:
        _limit(self.layers, most)
        self.layers.show_value(wished)
        self.layers_remark.setText(self.tr("{0} of {1} on the card").format(plan.n_gpu_layers, most))

    def _connect(self) -> None:
        self.slider.valueChanged.connect(self._choose_stop)
        self.context.chosen.connect(self._choose_context)
        self.kv_type.chosen.connect(lambda kind: self.chosen.emit("kv_type", kind))
        self.layers.chosen.connect(lambda count: self.chosen.emit("n_gpu_layers", count))

    def _arrange(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(UNIT * 3 // 2)
        grid.setVerticalSpacing(UNIT)
        grid.setColumnStretch(2, 1)
        rows = (
            (LeadingLabel(self.tr("Context")), self.context, self.slider),
            (LeadingLabel(self.tr("KV cache")), self.kv_type, self.kv_remark),
            (self._layers_label, self.layers, self.layers_remark),
        )
        for row, (label, control, beside) in enumerate(rows):
            label.setBuddy(control)
            for column, widget in enumerate((label, control, beside)):
                grid.addWidget(widget, row, column)


def _limit(box: NumberBox, most: int) -> None:
    if box.maximum() != most:  # it would be painted again
        with QSignalBlocker(box):
            box.setMaximum(most)


def context_stops(n_ctx_train: int) -> tuple[int, ...]:
    """Powers of two below the trained context, then that."""
    powers = (2**power for power in range(8, 31))
    return (*(power for power in powers if power < n_ctx_train), n_ctx_train)
