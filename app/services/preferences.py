"""The user's settings while Weir runs: one owner, told to all.

Changes go in by name, are stored at once and announced. A disk that refuses is told once as a
notice; the change holds until Weir is closed. It knows nothing about what the settings mean.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.data.settings import Settings, SettingsStore
from app.services.notice import Notice
from engine.errors import KnownError


class Preferences(QObject):
    """Holds the `Settings` in force."""

    changed = Signal(object)
    """The new `Settings`."""

    notice = Signal(object)
    """A `Notice`: the settings could not be stored."""

    def __init__(self, store: SettingsStore, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._settings = settings

    @property
    def settings(self) -> Settings:
        """What holds now."""
        return self._settings

    def update(self, **changes: Any) -> None:
        """Change and store the named fields of `Settings`; nothing happens where nothing changes."""
        settings = dataclasses.replace(self._settings, **changes)
        if settings == self._settings:
            return
        self._settings = settings
        try:
            self._store.save(settings)
        except KnownError as error:
            self.notice.emit(Notice(str(error)))
        self.changed.emit(settings)
