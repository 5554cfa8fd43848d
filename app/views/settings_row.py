"""One setting: its name, its control, what there is to know of it, and a button that undoes the choice.

The value in force goes in, chosen values come out. What undoing means is the mode of the form that the row
is in: back to the default, or in a chat back to what the settings say. It knows nothing about either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.views.leading_label import LeadingLabel
from app.views.settings_controls import ChoiceBox, NumberBox
from app.views.theme import set_style


@dataclass(frozen=True, slots=True)
class Undo:
    """How a choice is undone: what that means in words, and the value that is chosen with it."""

    meaning: str
    value: object


@dataclass(frozen=True, slots=True)
class Setting:
    """`hint` explains it in plain words. With `reloads`, a model has to be loaded again for it."""

    name: str
    label: str
    hint: str
    reloads: bool = False


class SettingRow(QObject):
    """Puts its widgets into one row of a grid."""

    chosen = Signal(object)
    """The value that the user chose, perhaps by undoing."""

    def __init__(
        self, setting: Setting, control: NumberBox | ChoiceBox, undo: Undo | None, parent: QWidget
    ) -> None:
        """Without `undo`, the choice is undone elsewhere."""
        super().__init__(parent)
        self.setting = setting
        self.control = control
        self.label = LeadingLabel(setting.label)
        self.label.setBuddy(control)
        self.label.setToolTip(setting.hint)
        self.remark = muted_label()
        self.label.setWordWrap(True)
        self.undo = ResetButton()
        self._row = 0
        control.setToolTip(setting.hint)
        control.setAccessibleName(setting.label)
        control.chosen.connect(self.chosen)
        self._can_undo = undo is not None
        if undo:
            self.undo.explain(setting.label, undo.meaning)
            self.undo.clicked.connect(lambda: self._undo(undo.value))

    def put(self, grid: QGridLayout) -> None:
        """Stand below what is in `grid` already."""
        self._row = grid.rowCount()
        for column, widget in enumerate((self.label, self.control, self.remark, self.undo)):
            grid.addWidget(widget, self._row, column)

    def show_narrow(self, grid: QGridLayout, narrow: bool) -> None:
        """Where there is little room, the remark stands below the control."""
        grid.removeWidget(self.remark)
        if narrow:
            grid.addWidget(self.remark, self._row + 1, 1, 1, 3)
        else:
            grid.addWidget(self.remark, self._row, 2)

    def show_value(self, value: Any, *, is_own: bool, remark: str = "", warns: bool = False) -> None:
        """`is_own`: the value was chosen here, and can be undone. A remark that `warns` tells of a fault."""
        self.control.show_value(value)
        self.undo.setVisible(is_own and self._can_undo)
        self.remark.setText(remark)
        self.remark.setVisible(bool(remark))
        set_style(self.remark, "warns", warns)
        self.control.setAccessibleDescription(f"{self.setting.hint} {remark}".strip())

    def allow(self, obstacle: str) -> None:
        """Let it be chosen, unless there is an `obstacle`, a reason why it cannot be."""
        self.control.setEnabled(not obstacle)
        self.control.setToolTip(obstacle or self.setting.hint)

    def _undo(self, value: object) -> None:
        self.control.setFocus()  # the button goes, and would take the focus somewhere
        self.chosen.emit(value)


class ResetButton(QPushButton):
    """Hidden until there is something to undo; it keeps its room, so that nothing moves."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(self.tr("Reset"))
        self.setObjectName("reset")
        policy = QSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        self.hide()

    def explain(self, what: str, meaning: str) -> None:
        """Say that `what` is reset, and to which effect."""
        self.setAccessibleName(f"{what}: {meaning}")
        self.setToolTip(meaning)


def muted_label(text: str = "") -> QLabel:
    """Plain text that says more about what stands beside it."""
    label = LeadingLabel(text)
    label.setProperty("muted", True)
    label.setWordWrap(True)
    return label
