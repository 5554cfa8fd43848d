"""The page that is shown before a model is loaded: what it is, where its memory will be, whether it fits.

A path and how it shall be loaded go in; `LoadPlans` is asked, now and after each choice, and what it answers
is shown. The wish to load, with what was chosen, and the wish to leave come out. Promises: Enter loads where
that is possible and Escape leaves; nothing can be loaded from here that could make the machine swap, and
nothing whose answer is not in sight yet.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.data.settings import LoadSettings
from app.services.load_plans import LoadPlans
from app.services.memory_split import planned_split
from app.services.plan_reasons import reasons_of
from app.services.plan_result import PlanResult, wishes_of
from app.views.device_section import DeviceSection
from app.views.leading_label import LeadingLabel
from app.views.page_column import page_column
from app.views.plan_controls import PlanControls
from app.views.plan_verdict import PlanVerdict
from app.views.plan_words import facts_in_words, origin_in_words
from app.views.settings_row import muted_label
from app.views.tokens import UNIT
from engine.memory.memory_plan import Wishes, trained_n_ctx

_WIDEST = UNIT * 84
_PATIENCE_MS = 150
"""A page that is painted, and painted again when an answer comes at once, flickers and costs twice."""


class LoadPlanPage(QWidget):
    """One page of the window."""

    load_requested = Signal(object, object)
    """The `PlanResult` in sight and the `LoadSettings` that it was made for."""

    closed = Signal()
    """Nothing shall be loaded."""

    def __init__(self, plans: LoadPlans, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plans = plans
        self._path = ""
        self._how = LoadSettings()
        self._result: PlanResult | None = None
        self._loads_when_answered = False
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(_PATIENCE_MS)
        self.title, self.facts, self.origin = LeadingLabel(), muted_label(), muted_label()
        self.controls = PlanControls()
        self.devices: list[DeviceSection] = []
        self._device_column = QVBoxLayout()
        self.verdict = PlanVerdict()
        self.load = QPushButton(self.tr("Load"))
        self.cancel = QPushButton(self.tr("Cancel"))
        self._dress()
        self._arrange()
        self._connect()

    def show_model(self, path: str, how: LoadSettings) -> None:
        """Ask about the model at `path` and show what is known of it."""
        self._path, self._how, self._result = path, how, None
        self._loads_when_answered = False
        self.setUpdatesEnabled(False)
        self._patience.start()
        self.title.setText(Path(path).stem)
        self.setAccessibleName(self.tr("Load {0}").format(Path(path).stem))
        self.facts.setText(path)
        self.origin.clear()
        self.controls.hide()
        self._show_devices(None)
        self.verdict.show_waiting()
        self._show_buttons(None)
        self.setFocusProxy(self.cancel)
        self._plans.ask(path, wishes_of(how))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses the button that has the focus, or else loads."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
            return
        focused = self.focusWidget()
        if isinstance(focused, QAbstractButton) and focused is not self.load:
            focused.click()
        elif self._is_answered:
            self.load.click()
        else:
            self._load()

    def event(self, event: QEvent) -> bool:
        """Escape is for this page while the focus is in it, before it is for the window."""
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            if event.type() is QEvent.Type.KeyPress:
                self.closed.emit()
            event.accept()
            return True
        return super().event(event)

    # --- showing ----------------------------------------------------------------------------------

    def _on_planned(self, path: str, result: PlanResult) -> None:
        if path != self._path:
            return
        n_ctx_train = trained_n_ctx(result.facts.n_ctx_train) if result.facts else None
        if self._how.n_ctx and n_ctx_train and self._how.n_ctx > n_ctx_train:
            self._choose("n_ctx", n_ctx_train)  # another model's context
        else:
            self._show(result)

    def _show(self, result: PlanResult) -> None:
        self._result = result
        self._patience.stop()
        self.setUpdatesEnabled(True)
        focused = self.focusWidget()
        self.facts.setText(facts_in_words(result.facts) if result.facts else self._path)
        self.origin.setText(origin_in_words(result) if result.can_chat else "")
        self.controls.setVisible(result.has_choices)
        self.controls.show_plan(result)
        self._show_devices(result if result.can_chat else None)
        self.verdict.show_plan(result)
        self._show_buttons(result)
        if focused and self.verdict.isAncestorOf(focused) and focused not in self.verdict.suggestions:
            self.setFocus()  # the button is going
        if self._loads_when_answered and result.may_load:
            self._load()
        self._loads_when_answered = False

    def _show_devices(self, result: PlanResult | None) -> None:
        splits = planned_split(result) if result else ()
        while len(self.devices) < len(splits):
            self.devices.append(DeviceSection())
            self._device_column.addWidget(self.devices[-1])
        for section, split in zip(self.devices, splits, strict=False):
            section.show_split(split, result.plan.n_cells if result and result.plan else None)
        for number, section in enumerate(self.devices):
            section.setVisible(number < len(splits))

    def _show_buttons(self, result: PlanResult | None) -> None:
        may_insist = result is not None and result.may_insist
        may_load = result is not None and result.may_load
        self.load.setText(self.tr("Load anyway") if may_insist else self.tr("Load"))
        # Not hasFocus(): while a menu closes, or another program is in front, nothing of the window has it.
        had_focus = self.window().focusWidget() in (self.load, self.cancel)
        self.load.setVisible(result is None or result.has_choices)
        self.load.setEnabled(may_load or may_insist)
        self.load.setToolTip(self._load_hint(result))
        # Insisting is never one careless key away.
        to_focus = self.load if may_load else self.cancel
        if to_focus is not self.focusProxy():
            self.setFocusProxy(to_focus)
            if had_focus:
                self.setFocus()

    def _load_hint(self, result: PlanResult | None) -> str:
        if result is None:
            return ""
        return self.tr("Load the model (Enter)") if result.may_load else reasons_of(result)[0]

    # --- choosing ---------------------------------------------------------------------------------

    @property
    def _is_answered(self) -> bool:
        """Whether what is shown is about what is chosen."""
        return self._result is not None and self._result.wishes == wishes_of(self._how)

    def _choose(self, name: str, value: object) -> None:
        self._wish(dataclasses.replace(self._how, **{name: value}))  # type: ignore[arg-type]

    def _take(self, wishes: Wishes) -> None:
        n_ctx, kv_type, n_gpu_layers = wishes.n_ctx, wishes.kv_type, wishes.n_gpu_layers
        self._wish(dataclasses.replace(self._how, n_ctx=n_ctx, kv_type=kv_type, n_gpu_layers=n_gpu_layers))

    def _wish(self, how: LoadSettings) -> None:
        self._how, self._loads_when_answered = how, False
        self._plans.wish(wishes_of(how))

    def _load(self) -> None:
        if self._result and self._is_answered:
            self.load_requested.emit(self._result, self._how)
        else:
            self._loads_when_answered = True

    # --- the widget -------------------------------------------------------------------------------

    def _connect(self) -> None:
        self._plans.planned.connect(self._on_planned)
        self._patience.timeout.connect(lambda: self.setUpdatesEnabled(True))
        self.controls.chosen.connect(self._choose)
        self.verdict.wished.connect(self._take)
        self.load.clicked.connect(self._load)
        self.cancel.clicked.connect(self.closed)

    def _dress(self) -> None:
        self.title.setObjectName("emptyTitle")
        self.title.setWordWrap(True)
        self.load.setObjectName("send")  # dressed like it
        self.cancel.setObjectName("formButton")
        self.cancel.setToolTip(self.tr("Go back to the chat (Esc)"))
        self.cancel.setAccessibleName(self.tr("Cancel: go back to the chat"))

    def _arrange(self) -> None:
        inner = QVBoxLayout()
        inner.setContentsMargins(UNIT * 3, UNIT * 2, UNIT * 3, UNIT * 2)
        inner.setSpacing(UNIT)
        for part in (self.title, self.facts):
            inner.addWidget(part)
        inner.addSpacing(UNIT)
        inner.addWidget(self.controls)
        inner.addSpacing(UNIT)
        self._device_column.setSpacing(UNIT)
        inner.addLayout(self._device_column)
        inner.addWidget(self.origin)
        inner.addStretch(1)
        area, contents = QScrollArea(), page_column(inner, _WIDEST)
        area.setWidget(contents)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its fields scroll it, by having the focus
        area.viewport().setAutoFillBackground(False)
        contents.setAutoFillBackground(False)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(0)
        page.addWidget(area, 1)
        page.addWidget(self._foot())

    def _foot(self) -> QWidget:
        """What decides is always in sight."""
        buttons = QHBoxLayout()
        buttons.setSpacing(UNIT)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.load)
        inner = QVBoxLayout()
        inner.setContentsMargins(UNIT * 3, UNIT * 3 // 2, UNIT * 3, UNIT * 3 // 2)
        inner.setSpacing(UNIT)
        inner.addWidget(self.verdict)
        inner.addLayout(buttons)
        foot = page_column(inner, _WIDEST)
        foot.setObjectName("planFoot")
        return foot
