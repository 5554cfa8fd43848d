"""The button that downloads one model, or says that this was done or is being done.

A `DownloadOffer` goes in, the wish to download comes out. Promises that the focus stays where it is when a
download begins: a button that is switched off would hand it to the next one, and a second press of the same
key would start that one's download. Knows nothing about downloads.
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.views.theme import set_style


class DownloadOffer(enum.Enum):
    """What a download of a model would be."""

    POSSIBLE = enum.auto()
    ASKING = enum.auto()  # the Hub is asked which file it is
    DOWNLOADING = enum.auto()  # or waiting in the queue
    INSTALLED = enum.auto()
    STOPPED = enum.auto()  # by itself: it can be tried again
    INCOMPLETE = enum.auto()  # its repository lacks parts
    UNUSABLE = enum.auto()  # what the file is, or is called, is known to be no model here

    @property
    def is_open(self) -> bool:
        """Whether there is something to press for."""
        return self in (DownloadOffer.POSSIBLE, DownloadOffer.STOPPED)


@dataclass(frozen=True, slots=True)
class KnownDownloads:
    """The `RemoteModel.id`s of models that are here, of those on their way, and of those that failed."""

    installed: frozenset[str] = frozenset()
    downloading: frozenset[str] = frozenset()
    stopped: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, installed: Collection[str], downloading: Collection[str], stopped: Collection[str] = ()
    ) -> KnownDownloads:
        """In any case, as the Hub compares names."""
        return cls(*(frozenset(map(str.casefold, ids)) for ids in (installed, downloading, stopped)))

    def state(self, model_id: str) -> DownloadOffer:
        """What holds for one model."""
        name = model_id.casefold()
        if name in self.downloading:
            return DownloadOffer.DOWNLOADING
        if name in self.stopped:
            return DownloadOffer.STOPPED
        return DownloadOffer.INSTALLED if name in self.installed else DownloadOffer.POSSIBLE


class DownloadButton(QPushButton):
    """Asks for a download only where one is possible, but can have the focus always."""

    requested = Signal()
    """Download it, or try again."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """`name` is that of the model, for screen readers."""
        super().__init__(parent)
        self._name = name
        self.setObjectName("formButton")
        self.clicked.connect(self._on_clicked)
        self.show_state(DownloadOffer.POSSIBLE)

    def show_state(self, state: DownloadOffer, reason: str = "") -> None:
        """What holds now, and why nothing can be downloaded."""
        self.state = state
        words = {
            DownloadOffer.POSSIBLE: self.tr("Download"),
            DownloadOffer.ASKING: self.tr("Asking the Hub"),
            DownloadOffer.DOWNLOADING: self.tr("Downloading"),
            DownloadOffer.INSTALLED: self.tr("Installed"),
            DownloadOffer.STOPPED: self.tr("Try again"),
            DownloadOffer.INCOMPLETE: self.tr("Incomplete"),
            DownloadOffer.UNUSABLE: self.tr("Not usable"),
        }[state]
        self.setText(words)
        self.setToolTip(reason)
        set_style(self, "inert", not state.is_open)
        self.setAccessibleName(self.tr("{0}: {1}").format(words, self._name))

    def _on_clicked(self) -> None:
        if self.state.is_open:
            self.requested.emit()
