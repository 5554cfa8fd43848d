"""The page of what one chat does differently from the settings.

Shows what the `ChatOptionsService` says of the open chat, and gives it what is chosen, at once. It knows
nothing about who acts on an option.
"""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.services.chat_options import ChatOptionsService
from app.services.preferences import Preferences
from app.views.settings_form import SettingsForm
from app.views.settings_sheet import SettingsSheet
from app.views.tokens import UNIT
from engine.protocol import ModelInfo


class ChatOptionsPanel(SettingsSheet):
    """One page of the window."""

    settings_requested = Signal()
    """The user wants what holds in all chats."""

    def __init__(
        self, chat_options: ChatOptionsService, preferences: Preferences, parent: QWidget | None = None
    ) -> None:
        super().__init__(
            self.tr("This chat"),
            self.tr("What is chosen here holds in this chat only. All else is as in the settings."),
            self.tr("The loaded model does not run as this chat wants it yet."),
            parent,
        )
        self._chat_options = chat_options
        self._preferences = preferences
        self._chat_id: str | None = None
        self.form = SettingsForm(for_chat=True)
        self.settings_button = QPushButton(self.tr("Settings of all chats"))
        self.settings_button.setObjectName("formButton")
        self.settings_button.clicked.connect(self.settings_requested)
        self.content.addWidget(self.form)
        self.content.addSpacing(UNIT)
        self.content.addWidget(self.settings_button, 0, Qt.AlignmentFlag.AlignLeading)
        self.content.addStretch(1)
        self.setFocusProxy(self.form.presets.chooser)
        self.form.chosen.connect(self._choose)
        chat_options.changed.connect(self._on_changed)
        preferences.changed.connect(lambda _settings: self._show())
        self._show()

    def show_chat(self, chat_id: str | None) -> None:
        """Another chat is open; None is one that is not stored yet."""
        self.form.flush()  # what was being typed is for the chat before
        self._chat_id = chat_id
        self._show()

    def show_model(self, info: ModelInfo | None, reload_needed: bool) -> None:
        """The model that answers, and whether it was loaded with something else than the chat wants."""
        self.form.show_model(info)
        self.show_reload(reload_needed)

    def _choose(self, name: str, value: object) -> None:
        if name == "presets":
            self._preferences.update(presets=value)
            return
        options = self._chat_options.options(self._chat_id)
        changed = dataclasses.replace(options, **{name: value})  # type: ignore[arg-type]
        self._chat_options.set_options(self._chat_id, changed)
        self._show()  # also if nothing changed: "automatic" in a chat is what the settings say

    def _on_changed(self, chat_id: str | None) -> None:
        if chat_id == self._chat_id:
            self._show()

    def _show(self) -> None:
        options = self._chat_options.options(self._chat_id)
        self.form.show_settings(self._chat_options.effective(self._chat_id), options)
