"""How models are run: the chat format that is chosen for each, and settings that a model refuses.

Promises:
settings that a model refused to be loaded with are not what the next start uses; a model that cannot let
go of single turns says so once, before the first message. It knows nothing about chats.
"""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QObject, Signal

from app.data.settings import LoadSettings, Settings
from app.services.model_loader import ModelLoader
from app.services.notice import Notice
from app.services.preferences import Preferences
from engine.protocol import Endurance, ModelInfo


class ModelOptions(QObject):
    """Carries out the choices of the model bar."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(self, preferences: Preferences, loader: ModelLoader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self._loader = loader
        self._good = preferences.settings.load_settings
        self._told: set[str] = set()
        loader.model_ready.connect(self._on_ready)
        loader.refused.connect(self._on_refused)

    @property
    def settings(self) -> Settings:
        """What holds now."""
        return self._preferences.settings

    def use_chat_format(self, name: str | None) -> None:
        """Load the current model again with the chat format `name`; None is the file's own."""
        if self._loader.info is None:
            return
        path = self._loader.info.path
        formats = {key: value for key, value in self.settings.chat_formats.items() if key != path}
        self._preferences.update(chat_formats=formats | ({path: name} if name else {}))
        self._load_again()

    def _load_again(self) -> None:
        if self._loader.info:
            self._loader.load(self._loader.info.path)

    def _on_ready(self, info: ModelInfo) -> None:
        if self._loader.asked_with == self.settings.load_settings:  # else a chat wanted it otherwise
            self._good = self.settings.load_settings
        if info.endurance is Endurance.CANNOT and info.endurance_reason and info.path not in self._told:
            self._told.add(info.path)
            self.notice.emit(Notice(info.endurance_reason, calm=True))

    def _on_refused(self, how: LoadSettings) -> None:
        if how == self.settings.load_settings:
            self._preferences.update(**dataclasses.asdict(self._good))
