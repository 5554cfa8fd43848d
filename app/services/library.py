"""The models on this machine: looked for in the background, kept up to date, called as the user likes.

Folders go in by the settings, `InstalledModel`s come out as they are found. Promises: the window's thread
never waits for a disk; what was listed stays until it is known to be gone; labels change no file. Knows
nothing about widgets, downloads or the engine.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from app.data.installed_model import Fit, InstalledModel
from app.data.library_contents import Places, ProvenanceOf, contents
from app.data.library_file import Kept, LibraryFile, as_label
from app.services.background import Background, Runner
from app.services.library_scanning import LibraryScanning
from app.services.notice import Notice
from app.services.preferences import Preferences
from engine.errors import KnownError
from engine.models.known_folders import ModelFolder, ModelSource, model_folders
from engine.models.library_folders import SkippedFolder

REST_MS = 500
"""How long a folder must have been quiet before it is looked at again."""

GROWING_S = 30
"""A broken file that was written so lately is perhaps still being copied."""

_LOOK_AGAIN_MS = 3000
_MOST_WATCHED = 100

FoldersOf = Callable[[Path, Sequence[str]], tuple[ModelFolder, ...]]


class LibraryService(QObject):
    """Owns the list of models, their labels, and the files that are used where they are."""

    found = Signal(object)
    """A tuple of `InstalledModel`s that are new, or not as they were."""

    gone = Signal(object)
    """A tuple of paths whose models are not there any more."""

    scan_ended = Signal(object)
    """All is listed: a tuple of sentences about folders that could not be searched."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(
        self,
        preferences: Preferences,
        own: Path,
        file: LibraryFile,
        provenance_of: ProvenanceOf,
        *,
        starter: Path | None = None,
        folders_of: FoldersOf = model_folders,
        make_runner: Callable[[str], Runner] = Background,
        parent: QObject | None = None,
    ) -> None:
        """`own`: Weir's folder of models. `folders_of` finds those of other programs."""
        super().__init__(parent)
        self._preferences = preferences
        self.own = own
        self._file = file
        self._provenance_of = provenance_of
        self._starter = starter
        self._folders_of = folders_of
        self._runner = make_runner("library")
        self._scanning = LibraryScanning(self._runner, self)
        self._models: dict[Path, InstalledModel] = {}
        self._seen: set[Path] = set()
        self._kept = self._stored = file.load()
        self._tops: tuple[ModelFolder, ...] = ()
        self._look_again = False
        self._watcher = QFileSystemWatcher(self)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._connect()

    @property
    def models(self) -> Mapping[Path, InstalledModel]:
        """All that are listed, by path."""
        return self._models

    @property
    def is_scanning(self) -> bool:
        """Whether more may be found."""
        return self._scanning.is_running

    def refresh(self) -> None:
        """Look what has changed; what is listed stays meanwhile. After a download, or when shown."""
        self._rest.stop()
        if self._scanning.is_running:
            self._look_again = True
        else:
            self._scan()

    def close(self) -> None:
        """Nothing is looked for any more."""
        self._rest.stop()
        self._scanning.stop()
        self._runner.close()

    # --- what the user decides --------------------------------------------------------------------

    def rename(self, path: Path, label: str) -> None:
        """Call a model `label`; empty is what its file is called. The file keeps its name."""
        model = self._models.get(path)
        if model is None:
            return
        words = as_label(label)
        labels = {other: text for other, text in self._kept.labels.items() if other != path}
        if words and words != dataclasses.replace(model, label=None).name:
            labels[path] = words
        self._keep(dataclasses.replace(self._kept, labels=labels))
        self._put([model])

    def add_folder(self, folder: Path) -> None:
        """Search `folder` too, now and from now on."""
        known = self._preferences.settings.model_folders
        if str(folder) not in known:
            self._preferences.update(model_folders=(*known, str(folder)))

    def remove_folder(self, folder: Path) -> None:
        """Do not search `folder` any more; its files stay where they are."""
        known = self._preferences.settings.model_folders
        self._preferences.update(model_folders=tuple(path for path in known if path != str(folder)))

    def use_files(self, paths: Sequence[Path]) -> None:
        """List single files where they are."""
        files = dict.fromkeys((*self._kept.files, *paths))
        self._keep(dataclasses.replace(self._kept, files=tuple(files)))
        self._scan()

    def forget_file(self, path: Path) -> None:
        """Do not list a single file any more; it stays where it is."""
        files = tuple(other for other in self._kept.files if other != path)
        self._keep(dataclasses.replace(self._kept, files=files))
        self.drop(path)

    def drop(self, path: Path) -> None:
        """The model at `path` was deleted."""
        if self._models.pop(path, None):
            self.gone.emit((path,))

    def take_fits(self, fits: Mapping[Path, Fit]) -> None:
        """It was counted how these models fit."""
        known = [self._models[path] for path in fits if path in self._models]
        self._put([dataclasses.replace(model, fit=fits[model.path]) for model in known])

    # --- looking ----------------------------------------------------------------------------------

    def _connect(self) -> None:
        self._scanning.found.connect(self._on_found)
        self._scanning.ended.connect(self._on_ended)
        self._watcher.directoryChanged.connect(lambda _folder: self._rest.start(REST_MS))
        self._rest.timeout.connect(self.refresh)
        self._folders = self._preferences.settings.model_folders
        self._preferences.changed.connect(lambda _settings: self._on_settings())

    def _on_settings(self) -> None:
        if self._folders != self._preferences.settings.model_folders:
            self._folders = self._preferences.settings.model_folders
            self._scan()

    def _scan(self) -> None:
        """Begin anew, knowing all that was found so far."""
        self._look_again = False
        self._seen = set()
        added, kept = self._folders, self._kept
        known = {path: model.scanned for path, model in self._models.items()}

        before = dataclasses.replace(kept, models={**kept.models, **known})

        def everything() -> Iterator[InstalledModel | SkippedFolder]:
            """On the other thread."""
            self._tops = self._folders_of(self.own, added)
            return contents(Places(self._tops, self._starter), before, self._provenance_of)

        self._scanning.start(everything)

    def _on_found(self, models: Sequence[InstalledModel]) -> None:
        self._seen.update(model.path for model in models)
        before = (self._models.get(model.path) for model in models)
        # How it fits holds as long as the file is the same.
        self._put(
            dataclasses.replace(model, fit=old.fit) if old and old.scanned == model.scanned else model
            for model, old in zip(models, before, strict=True)
        )

    def _on_ended(self, skipped: Sequence[SkippedFolder]) -> None:
        gone = tuple(path for path in self._models if path not in self._seen)
        for path in gone:
            del self._models[path]
        if gone:
            self.gone.emit(gone)
        self._keep(self._kept)
        self._watch()
        self.scan_ended.emit(tuple(folder.reason for folder in skipped))
        if self._look_again:
            self._scan()
        elif any(_may_be_growing(model) for model in self._models.values()):
            self._rest.start(_LOOK_AGAIN_MS)

    def _put(self, models: Iterator[InstalledModel] | Sequence[InstalledModel]) -> None:
        labels = self._kept.labels
        named = (dataclasses.replace(model, label=labels.get(model.path)) for model in models)
        changed = tuple(model for model in named if self._models.get(model.path) != model)
        if changed:
            self._models.update((model.path, model) for model in changed)
            self.found.emit(changed)

    def _keep(self, kept: Kept) -> None:
        """Remember, and store it if it is new."""
        scanned = {path: model.scanned for path, model in self._models.items()}
        self._kept = new = dataclasses.replace(kept, models=scanned)
        if new != self._stored:
            self._stored = new
            self._runner.run(lambda: self._store(new), self._on_stored)

    def _store(self, kept: Kept) -> str:
        """On the other thread: what went wrong."""
        try:
            self._file.save(kept)
        except KnownError as error:
            return str(error)
        return ""

    def _on_stored(self, problem: str | None) -> None:
        if problem:
            self.notice.emit(Notice(problem))

    def _watch(self) -> None:
        """Be told of changes in the folders that hold models, as far as the system does that."""
        tops = (folder.path for folder in self._tops)
        own = (
            model.path.parent for model in self._models.values() if model.source is not ModelSource.STARTER
        )
        wanted = list(dict.fromkeys(str(path) for path in (*tops, *own)))[:_MOST_WATCHED]
        known = set(self._watcher.directories())
        if left := known - set(wanted):
            self._watcher.removePaths(list(left))
        if new := [path for path in wanted if path not in known]:
            self._watcher.addPaths(new)


def _may_be_growing(model: InstalledModel) -> bool:
    """Whether a broken file may be one that another program still writes."""
    age = time.time() - model.scanned.mtime_ns / 1e9
    return not model.can_be_chosen and 0 <= age < GROWING_S
