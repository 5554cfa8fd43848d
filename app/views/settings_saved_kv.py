"""The settings of what the model remembers of chats on disk: whether, how much, and how much it is now.

`Settings` in force and the size of what is kept go in, chosen values and the wish to clear come out. It knows
nothing about where it is kept.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QGridLayout, QPushButton, QWidget

from app.data.chat_options import ChatOptions
from app.data.settings import LARGEST_SAVED_KV, SMALLEST_SAVED_KV, Settings
from app.views.announcing import announce
from app.views.number_format import size
from app.views.settings_controls import ChoiceBox, NumberBox
from app.views.settings_group import N_COLUMNS, SettingsGroup
from app.views.settings_row import Setting, Undo, muted_label

_GIB = 2**30
_BUDGET = "saved_kv_budget"


class SavedKVGroup(SettingsGroup):
    """Two rows, and a line that says what is kept, with a button that clears it."""

    clear_requested = Signal()
    """Remove all that is kept."""

    def __init__(self, form: QWidget) -> None:
        super().__init__(_tr("What the model remembers of chats"), form, for_chat=False)
        self.note = muted_label(
            _tr(
                "The model's notes on a chat can be kept on disk, so that the chat goes on at once when it "
                "is opened again. They hold the texts of your chats; a deleted chat takes its own with it."
            )
        )
        self.kept = muted_label()
        self.clear = QPushButton(_tr("Clear"))
        self.clear.setObjectName("formButton")
        self.clear.setAccessibleName(_tr("Clear what the model remembers of chats"))
        self.clear.setToolTip(_tr("Only makes the next answer in each chat slower. The chats stay."))
        self.clear.clicked.connect(self._on_clear)
        self._clearing = False
        self._add_rows()

    def put_rows(self, grid: QGridLayout) -> None:
        """The explanation above the rows, what is kept below them."""
        grid.addWidget(self.note, grid.rowCount(), 0, 1, N_COLUMNS)
        super().put_rows(grid)
        row = grid.rowCount()
        grid.addWidget(self.kept, row, 0, 1, N_COLUMNS - 1)
        grid.addWidget(self.clear, row, N_COLUMNS - 1)

    def undo_of(self, name: str) -> Undo | None:
        """The budget is chosen in GiB."""
        undo = super().undo_of(name)
        if undo and name == _BUDGET:
            return Undo(undo.meaning, Settings().saved_kv_budget / _GIB)
        return undo

    def choose(self, name: str, value: Any) -> None:
        """The budget is kept in bytes."""
        super().choose(name, round(value * _GIB) if name == _BUDGET else value)

    def show_settings(self, settings: Settings, options: ChatOptions | None) -> None:
        """Show what is in force, the budget in GiB."""
        for name, row in self.rows.items():
            value = getattr(settings, name)
            is_own = self.is_own(name, value, options)
            shown = value / _GIB if name == _BUDGET else value
            row.show_value(shown, is_own=is_own, remark=self.meaning_of(name, value))

    def meaning_of(self, name: str, value: Any) -> str:
        """What a choice means, and from when on it holds."""
        if name == _BUDGET:
            return self.tr("when it is full, what was used longest ago goes")
        if value:
            return self.tr("holds for the next model that is loaded")
        return self.tr("nothing is kept; the first answer in a chat that is opened again is slower")

    def show_size(self, n_bytes: int) -> None:
        """So much is kept now."""
        words = (
            self.tr("{0} are kept now.").format(size(n_bytes)) if n_bytes else self.tr("Nothing is kept now.")
        )
        self.kept.setText(words)
        if self._clearing:
            self._clearing = False
            announce(self.kept, words)

    def _on_clear(self) -> None:
        self._clearing = True
        self.kept.setText(self.tr("Clearing \N{HORIZONTAL ELLIPSIS}"))
        self.clear_requested.emit()

    def _add_rows(self) -> None:
        self.add(
            Setting(
                "saved_kv",
                _tr("Keep on disk"),
                _tr("Without it, the model reads a chat from its beginning when you go on with it later."),
            ),
            ChoiceBox([(_tr("yes"), True), (_tr("no"), False)]),
        )
        self.add(
            Setting(
                _BUDGET,
                _tr("At most, in GiB"),
                _tr(
                    "How much room on the disk it may take. A long chat with a large model can take 1 GiB "
                    "and more."
                ),
            ),
            NumberBox(SMALLEST_SAVED_KV / _GIB, LARGEST_SAVED_KV / _GIB, decimals=2, step=0.25),
        )


def _tr(text: str) -> str:
    return QCoreApplication.translate("Settings", text)
