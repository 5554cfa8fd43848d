"""Where models lie that Weir may use: its own folder, other programs' folders, folders that the user added.

The environment goes in, folders come out, with what each one is. Promises: only folders that exist, nothing
is written to any of them, and a program's file that is broken or missing means its usual place. What lies
in the folders is not known here. Ollama's is left out: its files are named by their hashes.
"""

from __future__ import annotations

import enum
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_MOST_TEXT = 2**20


class ModelSource(enum.StrEnum):
    """Where a model comes from."""

    WEIR = "weir"  # Weir's own folder: downloads, and what was copied there
    STARTER = "starter"  # installed together with Weir
    FOLDER = "folder"  # a folder that the user added
    FILE = "file"  # a single file that is used where it is
    LINKED = "linked"  # a link in one of these folders leads to it; it lies in none of them
    LM_STUDIO = "lm_studio"
    JAN = "jan"
    GPT4ALL = "gpt4all"
    HUGGING_FACE = "hugging_face"  # the cache of Hugging Face's own tools


OTHER_PROGRAMS = frozenset(
    {ModelSource.LM_STUDIO, ModelSource.JAN, ModelSource.GPT4ALL, ModelSource.HUGGING_FACE}
)


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with models in it or below; those of `OTHER_PROGRAMS` and the starter's are read only."""

    path: Path
    source: ModelSource


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the places of other programs follow from."""

    home: Path
    environ: Mapping[str, str]
    platform: str

    def folder(self, variable: str, otherwise: Path) -> Path:
        """The folder that an environment variable names, or else `otherwise`."""
        named = self.environ.get(variable, "").strip()
        return self.home.joinpath(named[2:]) if named.startswith("~/") else Path(named or otherwise)


def this_machine() -> Surroundings:
    """Those of this process."""
    return Surroundings(Path.home(), os.environ, sys.platform)


def model_folders(
    own: Path, added: Iterable[str], surroundings: Surroundings | None = None
) -> tuple[ModelFolder, ...]:
    """All folders to search, in this order: Weir's `own`, other programs', those that the user `added`.

    A model that lies in two of them belongs to the first, so what is another program's stays read only.
    Those that were added are named even where they are missing.
    """
    here = surroundings or this_machine()
    return (
        ModelFolder(own, ModelSource.WEIR),
        *other_programs_folders(here),
        *(ModelFolder(Path(folder), ModelSource.FOLDER) for folder in added),
    )


def other_programs_folders(here: Surroundings) -> tuple[ModelFolder, ...]:
    """The folders of other programs that are there."""
    candidates = [
        *((path, ModelSource.LM_STUDIO) for path in _lm_studio(here)),
        *((data / below, ModelSource.JAN) for data in _jan(here) for below in ("llamacpp/models", "models")),
        (_local_data(here) / "nomic.ai" / "GPT4All", ModelSource.GPT4ALL),
        (_hub_cache(here), ModelSource.HUGGING_FACE),
    ]
    return tuple(ModelFolder(path, source) for path, source in candidates if _is_folder(path))


def path_outside(path: Path, folder: Path) -> Path | None:
    """Where `path` really lies once all links are followed; None if that is in `folder`."""
    real = Path(os.path.realpath(path))
    return None if real.is_relative_to(os.path.realpath(folder)) else real


def folder_of(path: Path, folders: Iterable[ModelFolder]) -> ModelFolder:
    """The first of `folders` that `path` lies in, or else the path alone as a `ModelSource.FILE`."""
    found = (folder for folder in folders if path.is_relative_to(folder.path))
    return next(found, ModelFolder(path, ModelSource.FILE))


def repository_in_path(path: Path, folder: ModelFolder) -> str | None:
    """The Hub's repository as the folders above `path` name it, as in "org/name"; None where they do not."""
    parts = path.relative_to(folder.path).parts
    if folder.source is ModelSource.HUGGING_FACE:
        name = next((part for part in parts if part.startswith("models--")), "")
        return "/".join(name.split("--")[1:3]) or None
    if folder.source in (ModelSource.WEIR, ModelSource.LM_STUDIO) and len(parts) > 2:
        return "/".join(parts[:2])
    return None


def subfolder_in_path(path: Path, folder: ModelFolder) -> str:
    """The folders from its repository's folder, or else from `folder`, to `path`: "a/b"; empty for none.

    Files of one name in one repository differ by them.
    """
    parts = path.relative_to(folder.path).parts[:-1]
    if folder.source is ModelSource.HUGGING_FACE and "snapshots" in parts:
        parts = parts[parts.index("snapshots") + 2 :]
    elif repository_in_path(path, folder):
        parts = parts[2:]
    return "/".join(parts)


def _lm_studio(here: Surroundings) -> list[Path]:
    # All of its programs read this file first; the folder for downloads may be chosen.
    pointed = _text(here.home / ".lmstudio-home-pointer").strip()
    homes = [Path(pointed)] if pointed else []
    homes += [here.home / ".lmstudio", here.home / ".cache" / "lm-studio"]
    try:
        chosen = json.loads(_text(homes[0] / "settings.json"))["downloadsFolder"]
    except (ValueError, KeyError, TypeError, RecursionError):
        chosen = None
    first = [Path(chosen)] if isinstance(chosen, str) and chosen else []
    return list(dict.fromkeys(first + [home / "models" for home in homes]))


def _jan(here: Surroundings) -> list[Path]:
    if here.platform == "win32":
        return [here.folder("APPDATA", here.home / "AppData" / "Roaming") / "Jan" / "data"]
    if here.platform == "darwin":
        return [here.home / "Library" / "Application Support" / "Jan" / "data"]
    config = here.folder("XDG_CONFIG_HOME", here.home / ".config")
    return [_local_data(here) / "Jan" / "data", config / "Jan" / "data", here.home / "jan"]


def _local_data(here: Surroundings) -> Path:
    if here.platform == "win32":
        return here.folder("LOCALAPPDATA", here.home / "AppData" / "Local")
    if here.platform == "darwin":
        return here.home / "Library" / "Application Support"
    return here.folder("XDG_DATA_HOME", here.home / ".local" / "share")


def _hub_cache(here: Surroundings) -> Path:
    # As huggingface_hub's constants.py looks for it.
    caches = here.folder("XDG_CACHE_HOME", here.home / ".cache")
    home = here.folder("HF_HOME", caches / "huggingface")
    return here.folder("HF_HUB_CACHE", here.folder("HUGGINGFACE_HUB_CACHE", home / "hub"))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_absolute() and path.is_dir()
    except (OSError, ValueError):
        return False


def _text(path: Path) -> str:
    """The beginning of a file, empty where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_TEXT)
    except (OSError, ValueError):
        return ""
