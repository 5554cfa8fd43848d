"""A library of the test's own: its folders, a trash, and services that do their jobs at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.data.installed_model import InstalledModel, Provenance
from app.data.library_file import LibraryFile
from app.data.settings import SettingsStore
from app.services.library import LibraryService
from app.services.model_import import ModelImport
from app.services.model_removal import ModelRemoval
from app.services.preferences import Preferences
from engine.models.known_folders import ModelFolder, ModelSource
from engine.models.model_facts import ModelKind
from engine.models.scanned_model import ScannedModel
from tests.app.planned_machine import AtOnce
from tests.generated_models import write_model


def small_model(path: Path) -> Path:
    """A chat model without weights."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_model(path, n_tokens=64, n_merges=8)


def installed(
    name: str, size: int = 1, n_ctx_train: int | None = 8192, reason: str | None = None, mtime_ns: int = 1
) -> InstalledModel:
    """A model as it is listed, without a file; one with a `reason` cannot be chosen."""
    kind = ModelKind.OTHER if reason else ModelKind.CHAT
    scanned = ScannedModel(
        *(
            Path(f"/models/org/{name}.gguf"),
            size,
            mtime_ns,
            name,
            kind,
            "llama",
            "Q4_K_M",
            1,
            n_ctx_train,
            reason,
        )
    )
    return InstalledModel(scanned, ModelSource.WEIR)


class LibraryStage:
    """The services of a library in `folder`; `jobs` can be held back."""

    def __init__(self, folder: Path, others: Sequence[ModelFolder] = (), starter: Path | None = None) -> None:
        self.own = folder / "models"
        self.own.mkdir(exist_ok=True)
        self.jobs = AtOnce()
        self.in_use: list[str] = []
        self.provenance: dict[Path, Provenance] = {}
        store = SettingsStore(folder / "settings.json")
        self.preferences = Preferences(store, store.load()[0])
        self.file = folder / "library.json"

        def folders_of(own: Path, added: Sequence[str]) -> tuple[ModelFolder, ...]:
            named = (ModelFolder(Path(path), ModelSource.FOLDER) for path in added)
            return (ModelFolder(own, ModelSource.WEIR), *others, *named)

        self.library = LibraryService(
            self.preferences,
            self.own,
            LibraryFile(self.file),
            self.provenance.get,
            starter=starter,
            folders_of=folders_of,
            make_runner=lambda _name: self.jobs,
        )
        self.removal = ModelRemoval(self.library, lambda: self.in_use, lambda _name: self.jobs)
        self.imports = ModelImport(self.library, lambda _name: self.jobs)

    def close(self) -> None:
        self.library.close()

    def listed(self) -> dict[str, InstalledModel]:
        """What is listed, by path below the models folder where it lies there."""
        return {self._short(path): model for path, model in self.library.models.items()}

    def _short(self, path: Path) -> str:
        return path.relative_to(self.own).as_posix() if path.is_relative_to(self.own) else path.name
