"""What holds in each chat: its own options over the settings.

The options of a chat go in and out, the `Settings` that hold there come out. Promises: the options of a
chat that is not stored yet, which has no id, wait here until `adopt` gives them to it; what could not be
stored is told, and does not hold. It knows nothing about which chat is open, or what the values do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.data.chat_options import ChatOptions
from app.data.chat_store import ChatStore
from app.data.settings import LoadSettings, Settings, fields_of
from app.services.model_loader import ModelLoader
from app.services.notice import Notice
from app.services.plan_result import PlanResult
from app.services.preferences import Preferences
from engine.errors import KnownError
from engine.memory.memory_plan import trained_n_ctx


class ChatOptionsService(QObject):
    """Owns the options of the chat that is not stored yet; the store owns all others."""

    changed = Signal(object)
    """The id of a chat that has other options now; None is the chat that is not stored yet."""

    notice = Signal(object)
    """A `Notice`: options could not be stored."""

    def __init__(
        self, store: ChatStore, preferences: Preferences, loader: ModelLoader, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._preferences = preferences
        self._loader = loader
        self._pending = ChatOptions()

    def options(self, chat_id: str | None) -> ChatOptions:
        """What the chat does differently from the settings."""
        return self._pending if chat_id is None else self._store.options(chat_id)

    def effective(self, chat_id: str | None) -> Settings:
        """The settings that hold in the chat."""
        return self._preferences.settings.with_options(self.options(chat_id))

    def set_options(self, chat_id: str | None, options: ChatOptions) -> None:
        """From now on the chat has `options`."""
        if options == self.options(chat_id):
            return
        if chat_id is None:
            self._pending = options
        else:
            self._save(chat_id, options)
        self.changed.emit(chat_id)

    def choose(self, chat_id: str | None, **choices: Any) -> None:
        """Change named fields where they come from: in the chat's own options, else in the settings.

        Loads the present model again if that is needed for it.
        """
        before = self.effective(chat_id).load_settings
        self._keep(chat_id, choices)
        if self.effective(chat_id).load_settings != before:
            self.load_for(chat_id)

    def load_planned(self, chat_id: str | None, planned: PlanResult, how: LoadSettings) -> None:
        """Load a model as somebody saw it planned; what was chosen for it holds from now on."""
        n_ctx_train = trained_n_ctx(planned.facts.n_ctx_train) if planned.facts else None
        holds = _possible(self.effective(chat_id).load_settings, n_ctx_train)
        wanted = fields_of(how)
        chosen = {name: value for name, value in wanted.items() if value != getattr(holds, name)}
        self._keep(chat_id, chosen)
        self._loader.load(planned.path, how, planned)

    def adopt(self, chat_id: str) -> None:
        """The chat that was not stored yet is stored now: its options go with it."""
        options, self._pending = self._pending, ChatOptions()
        self.set_options(chat_id, options)
        self.changed.emit(None)

    def needs_reload(self, chat_id: str | None) -> bool:
        """Whether the model is, or is being, loaded with something else than what holds in the chat."""
        present = self._loader.asked_with
        if present is None:
            return False
        info = self._loader.info if self._loader.loading is None else None
        n_ctx_train = trained_n_ctx(info.n_ctx_train) if info else None
        wanted = _possible(self.effective(chat_id).load_settings, n_ctx_train)
        if info and wanted.n_ctx == info.n_ctx:  # what None came to
            wanted = dataclasses.replace(wanted, n_ctx=present.n_ctx)
        return wanted != present

    def load_for(self, chat_id: str | None, path: str | None = None) -> None:
        """Load a model as the chat wants it; without `path` the present one again, if there is one."""
        info = self._loader.info
        path = path or self._loader.loading or (info.path if info else None)
        if path:
            n_ctx_train = trained_n_ctx(info.n_ctx_train) if info and info.path == path else None
            self._loader.load(path, _possible(self.effective(chat_id).load_settings, n_ctx_train))

    def _keep(self, chat_id: str | None, choices: Mapping[str, Any]) -> None:
        options = self.options(chat_id)
        own = {name: value for name, value in choices.items() if getattr(options, name, None) is not None}
        self.set_options(chat_id, dataclasses.replace(options, **own))
        self._preferences.update(**{name: choices[name] for name in choices if name not in own})

    def _save(self, chat_id: str, options: ChatOptions) -> None:
        try:
            self._store.set_options(chat_id, options)
        except KnownError as error:
            self.notice.emit(Notice(str(error), chat_id=chat_id))


def _possible(wanted: LoadSettings, n_ctx_train: int | None) -> LoadSettings:
    """What of `wanted` a model can have: no more context than it was trained for, None if unknown."""
    if n_ctx_train is None or wanted.n_ctx is None or wanted.n_ctx <= n_ctx_train:
        return wanted
    return dataclasses.replace(wanted, n_ctx=n_ctx_train)
