"""The form of all settings, or of those that a chat may have of its own.

`Settings` in force go in, for a chat with its `ChatOptions`; names with chosen values come out. Both modes
are the same rows: in a chat, what is not its own stands there as in the settings. It knows nothing about
who stores what was chosen.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app.data.chat_options import ChatOptions
from app.data.settings import Settings
from app.views.gauge_label import isolated
from app.views.leading_label import LeadingLabel
from app.views.settings_group import N_COLUMNS, SettingsGroup
from app.views.settings_groups import MemoryGroup, answers_group, looks_group, sampling_group
from app.views.settings_loading import LoadingGroup
from app.views.settings_presets import PresetRow
from app.views.settings_prompt import LONGEST_PROMPT, PromptEdit
from app.views.settings_row import ResetButton, muted_label
from app.views.settings_saved_kv import SavedKVGroup
from app.views.tokens import UNIT
from engine.protocol import ModelInfo

NARROW = 75
"""Characters; in less there is no room for remarks beside the controls."""


class SettingsForm(QWidget):
    """All rows in one grid, so that they stand in line."""

    chosen = Signal(str, object)
    """The name of a field of `Settings` and its value; in a chat, None is what the settings say. The
    presets are always those of the settings."""

    def __init__(self, *, for_chat: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._narrow = False
        self._settings, self._options = Settings(), ChatOptions() if for_chat else None
        self.prompt = PromptEdit()
        self.prompt_label = LeadingLabel(self.tr("System prompt"))
        self.prompt_note = muted_label()
        self.prompt_reset = ResetButton()
        self.presets = PresetRow()
        self.answers = answers_group(self, for_chat=for_chat)
        self.sampling = sampling_group(self, for_chat=for_chat)
        self.memory = MemoryGroup(self, for_chat=for_chat)
        self.saved_kv = None if for_chat else SavedKVGroup(self)
        self.loading = None if for_chat else LoadingGroup(self)
        self.looks = None if for_chat else looks_group(self)
        self._dress_prompt()
        self._arrange()
        self._connect()
        self.show_settings(self._settings, self._options)

    def groups(self) -> list[SettingsGroup]:
        """In the order in which they stand."""
        groups = (self.answers, self.sampling, self.memory, self.saved_kv, self.loading, self.looks)
        return [group for group in groups if group is not None]

    def show_settings(self, settings: Settings, options: ChatOptions | None = None) -> None:
        """Show what is in force; `options` are those of the chat."""
        self._settings, self._options = settings, options
        self.prompt.show_text(settings.system_prompt)
        self.presets.show_presets(settings.presets, settings.system_prompt)
        is_own = self.answers.is_own("system_prompt", settings.system_prompt, options)
        self.prompt_reset.setVisible(is_own)
        self.prompt_note.setText(self.answers.remark(is_own=is_own))
        for group in self.groups():
            group.show_settings(settings, options)

    def show_model(self, info: ModelInfo | None) -> None:
        """Say what this model cannot do."""
        for group in (self.memory, self.loading):
            if group is not None:
                group.info = info
                group.show_settings(self._settings, self._options)

    def flush(self) -> None:
        """What is being typed counts now."""
        self.prompt.flush()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Remarks stand beside the controls, or below where there is little room."""
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Larger text needs more room."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._fit()

    def _fit(self) -> None:
        narrow = self.width() < NARROW * self.fontMetrics().averageCharWidth()
        if narrow is self._narrow:
            return
        self._narrow = narrow
        for group in self.groups():
            for row in group.rows.values():
                row.show_narrow(self._grid, narrow)

    def _connect(self) -> None:
        self.prompt.chosen.connect(lambda text: self.chosen.emit("system_prompt", text))
        self.prompt.refused.connect(self._on_refused)
        self.presets.prompt_chosen.connect(self.prompt.choose)
        self.presets.presets_chosen.connect(lambda presets: self.chosen.emit("presets", presets))
        self.prompt_reset.clicked.connect(self._reset_prompt)
        for group in self.groups():
            group.chosen.connect(self.chosen)

    def _on_refused(self, refused: bool) -> None:
        self.fault.setVisible(refused)

    def _reset_prompt(self) -> None:
        self.prompt.setFocus()
        undo = self.answers.undo_of("system_prompt")
        self.chosen.emit("system_prompt", undo.value if undo else None)

    def _dress_prompt(self) -> None:
        hint = self.tr("What the model is told before each chat: who it is, how it shall answer.")
        self.prompt.setToolTip(hint)
        self.prompt.setAccessibleName(self.prompt_label.text())
        self.prompt.setAccessibleDescription(hint)
        self.prompt.setPlaceholderText(
            isolated(self.tr("For example: You are a patient teacher of physics."))
        )
        self.prompt_label.setBuddy(self.prompt)
        undo = self.answers.undo_of("system_prompt")
        self.prompt_reset.explain(self.prompt_label.text(), undo.meaning if undo else "")
        self.fault = LeadingLabel(
            self.tr("Nothing was pasted: a system prompt has at most {0} characters.").format(
                f"{LONGEST_PROMPT:,}"
            )
        )
        self.fault.setProperty("warns", True)
        self.fault.setWordWrap(True)
        self.fault.hide()

    def _arrange(self) -> None:
        grid = self._grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(UNIT * 3 // 2)
        grid.setVerticalSpacing(UNIT // 2)
        grid.addWidget(self.answers.title, 0, 0, 1, N_COLUMNS)
        grid.addWidget(self.prompt_label, 1, 0)
        grid.addWidget(self.presets, 1, 1, 1, N_COLUMNS - 1)
        grid.addWidget(self.prompt, 2, 0, 1, N_COLUMNS)
        grid.addWidget(self.fault, 3, 0, 1, N_COLUMNS)
        grid.addWidget(self.prompt_note, 4, 0, 1, N_COLUMNS - 1)
        grid.addWidget(self.prompt_reset, 4, N_COLUMNS - 1)
        self.answers.put_rows(grid)
        for group in self.groups()[1:]:
            group.put(grid)
        grid.setColumnStretch(2, 1)
