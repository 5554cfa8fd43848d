"""How models are run: context size, what happens when it is full, KV type, chat format.

Choices come in, are stored as settings, and the model is loaded again where that is needed. Promises:
what a model refused to be loaded with is not what the next start uses; a model that cannot let go
of single turns says so once, before the first message. It knows nothing about chats.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.data.settings import Settings
from app.services.model_loader import ModelLoader
from app.services.notice import Notice
from app.services.preferences import Preferences
from engine.protocol import Endurance, KVType, ModelInfo, Policy


class ModelOptions(QObject):
    """Carries out the choices of the model bar."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(self, preferences: Preferences, loader: ModelLoader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self._loader = loader
        self._good = preferences.settings
        self._told: set[str] = set()
        loader.model_ready.connect(self._on_ready)
        loader.refused.connect(self._on_refused)

    @property
    def settings(self) -> Settings:
        """What holds now."""
        return self._preferences.settings

    def use_n_ctx(self, n_ctx: int) -> None:
        """Load the current model again with a context of `n_ctx` tokens."""
        self._preferences.update(n_ctx=n_ctx)
        self._load_again()

    def use_kv_type(self, kv_type: KVType) -> None:
        """Load the current model again with its KV cache stored as `kv_type`."""
        self._preferences.update(kv_type=kv_type)
        self._load_again()

    def use_policy(self, policy: Policy) -> None:
        """From the next message on, do this when a chat has filled its context."""
        self._preferences.update(policy=policy)

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
        self._good = self.settings
        if info.endurance is Endurance.CANNOT and info.endurance_reason and info.path not in self._told:
            self._told.add(info.path)
            self.notice.emit(Notice(info.endurance_reason, calm=True))

    def _on_refused(self) -> None:
        self._preferences.update(n_ctx=self._good.n_ctx, kv_type=self._good.kv_type)
