"""How models are run: the chat format that is chosen for each, and settings that a model refuses.

Promises:
settings that a model refused to be loaded with are not what the next start uses; what the user must know of
a model that was loaded is said once, before the first message: which options it could not be loaded with,
and that it cannot let go of single turns. It knows nothing about chats.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.data.settings import LoadSettings, Settings, fields_of
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
        self._told: set[tuple[str, str]] = set()
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
        sentences = list(info.notices)
        if info.endurance is Endurance.CANNOT and info.endurance_reason:
            sentences.append(info.endurance_reason)
        news = [sentence for sentence in sentences if (info.path, sentence) not in self._told]
        self._told.update((info.path, sentence) for sentence in news)
        if news:
            self.notice.emit(Notice(" ".join(news), calm=True))

    def _on_refused(self, how: LoadSettings) -> None:
        if how == self.settings.load_settings:
            self._preferences.update(**fields_of(self._good))
