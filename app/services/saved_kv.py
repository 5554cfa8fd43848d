"""Looks after the saved KV of the chats: how much there is, and that no more of it stays than should.

Wishes and changed settings go in, the size comes out. Promises: the window's thread waits for no disk; a
chat that is deleted, or was while nobody looked, leaves nothing behind; a smaller budget holds at once, and
where nothing is to be kept nothing is. The engine's worker saves and restores, this only counts and removes:
whatever goes makes the next answer of its chat slower, and nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.data.settings import Settings
from app.services.background import Background, Runner
from app.services.preferences import Preferences
from engine.kv_folder import KVFolder


class SavedKVService(QObject):
    """The saved KV in one folder."""

    measured = Signal(object)
    """How many bytes it takes now."""

    def __init__(
        self,
        preferences: Preferences,
        folder: Path,
        make_runner: Callable[[str], Runner] = Background,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self._folder = KVFolder(folder)
        self._allowed = _allowed(preferences.settings)
        self._runner = make_runner("saved-kv")
        preferences.changed.connect(self._on_settings)

    def measure(self) -> None:
        """Count; `measured` tells."""
        self._do(lambda: None)

    def clear(self) -> None:
        """Remove all."""
        self._do(self._folder.clear)

    def forget(self, chat_id: str) -> None:
        """The chat was deleted. Without a loaded model nobody else would remove what is saved of it."""
        self._do(functools.partial(self._folder.forget, chat_id))

    def tidy(self, chat_ids: Collection[str]) -> None:
        """These are all chats: remove what is saved of others, and what is beyond the budget.

        A worker that was ending may have saved a chat after it was deleted.
        """
        self._do(functools.partial(self._folder.keep_only, frozenset(chat_ids)))
        self._do(functools.partial(self._folder.shrink_to, self._allowed))

    def close(self) -> None:
        """Nothing is told any more. The workers have ended: what they left goes, if nothing is to be kept."""
        self._runner.close()
        if not self._preferences.settings.saved_kv:
            self._folder.clear()

    def _on_settings(self, settings: Settings) -> None:
        before, self._allowed = self._allowed, _allowed(settings)
        if self._allowed < before:
            self._do(functools.partial(self._folder.shrink_to, self._allowed))

    def _do(self, job: Callable[[], None]) -> None:
        self._runner.run(functools.partial(_then_count, self._folder, job), self._tell)

    def _tell(self, n_bytes: int | None) -> None:
        if n_bytes is not None:
            self.measured.emit(n_bytes)


def _then_count(folder: KVFolder, job: Callable[[], None]) -> int:
    job()
    return folder.size_bytes()


def _allowed(settings: Settings) -> int:
    return settings.saved_kv_budget if settings.saved_kv else 0
