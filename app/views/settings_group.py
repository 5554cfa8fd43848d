"""Settings that stand together under one title, in either mode of the form.

`Settings` in force go in, and in a chat its `ChatOptions`; names with chosen values come out. In a chat, None
is the value that takes what the settings say. It knows nothing about who stores them.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from app.data.chat_options import ChatOptions
from app.data.settings import Settings
from app.views.leading_label import LeadingLabel
from app.views.settings_controls import ChoiceBox, NumberBox
from app.views.settings_row import ResetButton, Setting, SettingRow, Undo, muted_label
from app.views.tokens import UNIT

N_COLUMNS = 4


class SettingsGroup(QObject):
    """A title and rows; the names of the rows are fields of `Settings`."""

    chosen = Signal(str, object)
    """The name of a field and its value."""

    def __init__(self, title: str, form: QWidget, *, for_chat: bool) -> None:
        super().__init__(form)
        self._form = form
        self.for_chat = for_chat
        self.title = LeadingLabel(title)
        self.title.setObjectName("groupTitle")
        self.rows: dict[str, SettingRow] = {}

    def add(self, setting: Setting, control: NumberBox | ChoiceBox) -> None:
        """One more row."""
        row = SettingRow(setting, control, self.undo_of(setting.name), self._form)
        row.chosen.connect(lambda value: self.choose(setting.name, value))
        self.rows[setting.name] = row

    def put(self, grid: QGridLayout) -> None:
        """Stand below what is in `grid` already."""
        if grid.rowCount() > 1:
            grid.setRowMinimumHeight(grid.rowCount(), UNIT * 2)
        grid.addWidget(self.title, grid.rowCount() + 1, 0, 1, N_COLUMNS)
        self.put_rows(grid)

    def put_rows(self, grid: QGridLayout) -> None:
        """The rows below the title."""
        for row in self.rows.values():
            row.put(grid)
            grid.setRowMinimumHeight(grid.rowCount(), 0)  # for the remark, where there is little room

    def undo_of(self, name: str) -> Undo | None:
        """What undoing a choice means for the field `name`."""
        if self.for_chat:
            return Undo(self.tr("as in the settings"), None)
        return Undo(self.tr("back to the default"), getattr(Settings(), name))

    def choose(self, name: str, value: object) -> None:
        """The user chose `value`."""
        self.chosen.emit(name, value)

    def show_settings(self, settings: Settings, options: ChatOptions | None) -> None:
        """Show what is in force; `options` are those of the chat."""
        for name, row in self.rows.items():
            value = getattr(settings, name)
            fault = self.fault_of(name, value)
            is_own = self.is_own(name, value, options)
            remarks = (self.meaning_of(name, value), self.remark(is_own=is_own, reloads=row.setting.reloads))
            remark = fault or "; ".join(filter(None, remarks))
            row.show_value(value, is_own=is_own, remark=remark, warns=bool(fault))

    def is_own(self, name: str, value: object, options: ChatOptions | None) -> bool:
        """Whether the field was chosen here."""
        if options is not None:
            return getattr(options, name) is not None
        return bool(value != getattr(Settings(), name))

    def remark(self, *, is_own: bool, reloads: bool = False) -> str:
        """What stands beside the control."""
        if self.for_chat and not is_own:
            return self.tr("as in the settings")
        return self.tr("loads the model again") if reloads else ""

    def meaning_of(self, _name: str, _value: Any) -> str:
        """What a value means, "" where it speaks for itself."""
        return ""

    def fault_of(self, _name: str, _value: object) -> str:
        """What is wrong with a value, "" if nothing is."""
        return ""


class SamplingGroup(SettingsGroup):
    """The rows are fields of `Sampling`, which a chat has as a whole or not at all."""

    def __init__(self, title: str, form: QWidget, *, for_chat: bool) -> None:
        super().__init__(title, form, for_chat=for_chat)
        self._sampling = Settings().sampling
        self.note = muted_label()
        self.reset = ResetButton()
        self.reset.explain(title, self.tr("as in the settings"))
        self.reset.clicked.connect(self._reset)

    def put_rows(self, grid: QGridLayout) -> None:
        """In a chat, one button below the title undoes all of it."""
        if self.for_chat:
            row = grid.rowCount()
            grid.addWidget(self.note, row, 0, 1, N_COLUMNS - 1)
            grid.addWidget(self.reset, row, N_COLUMNS - 1)
        super().put_rows(grid)

    def undo_of(self, name: str) -> Undo | None:
        """Single fields have no undoing in a chat."""
        if self.for_chat:
            return None
        return Undo(self.tr("back to the default"), getattr(Settings().sampling, name))

    def choose(self, name: str, value: object) -> None:
        """A field takes the others with it."""
        sampling = dataclasses.replace(self._sampling, **{name: value})  # type: ignore[arg-type]
        super().choose("sampling", sampling)

    def show_settings(self, settings: Settings, options: ChatOptions | None) -> None:
        """Show the fields of the sampling in force."""
        self._sampling = settings.sampling
        defaults = Settings().sampling
        for name, row in self.rows.items():
            value = getattr(self._sampling, name)
            row.show_value(value, is_own=value != getattr(defaults, name))
        is_own = options is not None and options.sampling is not None
        self.note.setText(self.tr("all of these hold in this chat") if is_own else self.remark(is_own=False))
        self.reset.setVisible(is_own)

    def _reset(self) -> None:
        next(iter(self.rows.values())).control.setFocus()
        super().choose("sampling", None)
