"""The button that downloads one model, or says that this was done or is being done.

A `DownloadOffer` goes in, Qt's `clicked` comes out. Knows nothing about downloads.
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass

from PySide6.QtWidgets import QPushButton, QWidget


class DownloadOffer(enum.Enum):
    """What a download of a model would be."""

    POSSIBLE = enum.auto()
    ASKING = enum.auto()  # the Hub is asked which file it is
    DOWNLOADING = enum.auto()  # or waiting in the queue
    INSTALLED = enum.auto()
    INCOMPLETE = enum.auto()  # its repository lacks parts


@dataclass(frozen=True, slots=True)
class KnownDownloads:
    """The `RemoteModel.id`s of models that are here, and of those that are on their way."""

    installed: frozenset[str] = frozenset()
    downloading: frozenset[str] = frozenset()

    @classmethod
    def of(cls, installed: Collection[str], downloading: Collection[str]) -> KnownDownloads:
        """In any case, as the Hub compares names."""
        return cls(frozenset(map(str.casefold, installed)), frozenset(map(str.casefold, downloading)))

    def state(self, model_id: str) -> DownloadOffer:
        """What holds for one model."""
        name = model_id.casefold()
        if name in self.downloading:
            return DownloadOffer.DOWNLOADING
        return DownloadOffer.INSTALLED if name in self.installed else DownloadOffer.POSSIBLE


class DownloadButton(QPushButton):
    """Can be pressed only where a download is possible."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """`name` is that of the model, for screen readers."""
        super().__init__(parent)
        self._name = name
        self.setObjectName("formButton")
        self.show_state(DownloadOffer.POSSIBLE)

    def show_state(self, state: DownloadOffer) -> None:
        """What holds now."""
        words = {
            DownloadOffer.POSSIBLE: self.tr("Download"),
            DownloadOffer.ASKING: self.tr("Asking the Hub"),
            DownloadOffer.DOWNLOADING: self.tr("Downloading"),
            DownloadOffer.INSTALLED: self.tr("Installed"),
            DownloadOffer.INCOMPLETE: self.tr("Incomplete"),
        }[state]
        self.setText(words)
        self.setEnabled(state is DownloadOffer.POSSIBLE)
        self.setAccessibleName(self.tr("{0}: {1}").format(words, self._name))
