"""The page of the settings.

Shows what the `Preferences` hold, and gives them what is chosen, at once. It knows nothing about who acts
on a setting.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.services.preferences import Preferences
from app.views.leading_label import LeadingLabel
from app.views.settings_form import SettingsForm
from app.views.settings_row import muted_label
from app.views.settings_sheet import SettingsSheet
from app.views.tokens import UNIT
from engine.protocol import ModelInfo


class SettingsPage(SettingsSheet):
    """One page of the window."""

    clear_saved_requested = Signal()
    """Remove all that the model remembers of chats on disk."""

    def __init__(self, preferences: Preferences, data_folder: Path, parent: QWidget | None = None) -> None:
        """`data_folder` is where the chats are."""
        super().__init__(
            self.tr("Settings"),
            self.tr("They hold in all chats, except where a chat has options of its own."),
            self.tr("The loaded model does not run with these settings yet."),
            parent,
        )
        self._preferences = preferences
        self._data_folder = data_folder
        self.form = SettingsForm(for_chat=False)
        self.folder = LeadingLabel(str(data_folder))
        self.open_folder = QPushButton(self.tr("Open the folder"))
        self.content.addWidget(self.form)
        self.content.addSpacing(UNIT)
        self._add_data()
        self.content.addStretch(1)
        self.setFocusProxy(self.form.presets.chooser)
        self.form.chosen.connect(lambda name, value: preferences.update(**{name: value}))
        preferences.changed.connect(self.form.show_settings)
        if self.form.saved_kv:
            self.form.saved_kv.clear_requested.connect(self.clear_saved_requested)
        self.form.show_settings(preferences.settings)

    def show_model(self, info: ModelInfo | None, reload_needed: bool) -> None:
        """The model that answers, and whether it was loaded with something else than what is chosen."""
        self.form.show_model(info)
        self.show_reload(reload_needed)

    def show_saved(self, n_bytes: int) -> None:
        """How much of the disk that takes now."""
        if self.form.saved_kv:
            self.form.saved_kv.show_size(n_bytes)

    def _add_data(self) -> None:
        title = LeadingLabel(self.tr("Data"))
        title.setObjectName("groupTitle")
        self.folder.setWordWrap(True)
        self.folder.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.folder.setAccessibleName(self.tr("The folder of the chats: {0}").format(self._data_folder))
        self.open_folder.setObjectName("formButton")
        self.open_folder.clicked.connect(
            lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._data_folder)))
        )
        row = QHBoxLayout()
        row.addWidget(self.folder, 1)
        row.addWidget(self.open_folder)
        self.content.addWidget(title)
        self.content.addWidget(muted_label(self.tr("Your chats and settings are in this folder.")))
        self.content.addLayout(row)
