"""`weir models` and `weir rm`: what is on this machine, and deleting one of them.

Folders, names and answers go in; a table for people or JSON comes out, and an exit status: 1 for a model
that is not there, is not the only one of its name, or was not deleted. Promises that nothing is deleted
without a yes, typed or as --yes, and nothing of other programs at all. This process never loads llama.cpp.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.data.installed_model import InstalledModel
from app.data.library_contents import Places, contents
from app.data.library_file import Kept, LibraryFile
from app.data.message_text import clean_text
from app.data.model_deletion import NoTrash, delete_for_ever, move_to_trash
from app.data.paths import LIBRARY_FILE, MODELS_FOLDER, SETTINGS_FILE, data_dir_to_read
from app.data.provenance import provenance_of
from app.data.settings import SettingsStore
from engine.errors import KnownError
from engine.memory.words import size
from engine.models.byte_reader import shown
from engine.models.known_folders import ModelFolder, ModelSource, model_folders
from engine.models.library_folders import SkippedFolder
from engine.models.model_in_use import is_mapped
from engine.models.starter import starter_model_path

_SOURCES = {
    ModelSource.WEIR: "in Weir's folder",
    ModelSource.STARTER: "the model that came with Weir",
    ModelSource.FOLDER: "in a folder that you added",
    ModelSource.FILE: "used where it is",
    ModelSource.LINKED: "linked from elsewhere",
    ModelSource.LM_STUDIO: "LM Studio's",
    ModelSource.JAN: "Jan's",
    ModelSource.GPT4ALL: "GPT4All's",
    ModelSource.HUGGING_FACE: "in the Hugging Face cache",
}


def run_models(folders: Sequence[str], as_json: bool) -> int:
    """List the models of the library, or of `folders` alone; 0. Writes nothing."""
    found = list(_look(folders))
    models = sorted((item for item in found if isinstance(item, InstalledModel)), key=_order)
    for item in found:
        if isinstance(item, SkippedFolder):
            _note(item.reason)
    if as_json:
        print(json.dumps([json_fields(model) for model in models], allow_nan=False))
    elif models:
        print("\n".join(_table(models)))
    elif folders:
        _note(
            f"No models are in {', '.join(_printable(str(Path(folder).absolute())) for folder in folders)}."
        )
    else:
        _note("There are no models yet. `weir pull REPO` downloads one.")
    return 0


def run_rm(name: str, as_json: bool, is_sure: bool) -> int:
    """Delete the model called `name`, or at this path; 0, or 1 if it was not deleted."""
    try:
        model = _named(name, [item for item in _look(()) if isinstance(item, InstalledModel)])
        is_in_trash = _delete(model, is_sure) if _agreed(model, is_sure) else None
    except KnownError as error:
        return _note(str(error))
    if is_in_trash is None:
        return _note("Nothing was deleted.")
    if as_json:
        print(json.dumps({"path": clean_text(str(model.path)), "deleted": True, "in_trash": is_in_trash}))
    else:
        where = "moved to the trash" if is_in_trash else "deleted"
        print(f"{_name(model)} was {where}: {_printable(str(model.path))}")
    return 0


def json_fields(model: InstalledModel) -> dict[str, object]:
    """The fields of a model's JSON object; `size` in bytes, null for what its file does not tell."""
    scanned = model.scanned
    return {
        "name": clean_text(model.name),
        "path": clean_text(str(model.path)),
        "size": scanned.size,
        "kind": str(scanned.kind),
        "architecture": scanned.architecture,
        "quantization": scanned.quantization,
        "n_params": scanned.n_params,
        "n_ctx_train": scanned.n_ctx_train,
        "is_chat_model": model.can_be_chosen,
        "reason": model.reason,
        "source": str(model.source),
        "repo_id": model.repo_id,
        "verification": str(model.verification),
        "quantized_from": model.quantized_from,
    }


# --- looking --------------------------------------------------------------------------------------


def _look(folders: Sequence[str]) -> Iterator[InstalledModel | SkippedFolder]:
    home = data_dir_to_read()
    kept = LibraryFile(home / LIBRARY_FILE).load()
    if folders:
        alone = tuple(ModelFolder(Path(folder).absolute(), ModelSource.FOLDER) for folder in folders)
        return contents(Places(alone), _without_files(kept), provenance_of)
    added = SettingsStore(home / SETTINGS_FILE).load()[0].model_folders
    tops = model_folders(home / MODELS_FOLDER, added)
    return contents(Places(tops, starter_model_path()), kept, provenance_of)


def _without_files(kept: Kept) -> Kept:
    return Kept(kept.labels, (), kept.models)


def _order(model: InstalledModel) -> tuple[bool, str, str]:
    return not model.can_be_chosen, model.name.lower(), str(model.path)


def _table(models: Sequence[InstalledModel]) -> Iterator[str]:
    rows = [_row(model) for model in models]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        cells = (
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row[:4], widths, strict=False))
        )
        yield f"{'  '.join(cells)}  {row[4]}".rstrip()


def _row(model: InstalledModel) -> tuple[str, str, str, str, str]:
    scanned = model.scanned
    if not model.can_be_chosen:
        return _name(model), "", "", "", model.reason or "cannot be loaded"
    context = f"{model.n_ctx_train:,} tokens" if model.n_ctx_train else ""
    place = _SOURCES[model.source]
    if model.quantized_from:
        place = f"quantized from {shown(clean_text(model.quantized_from))}, {place}"
    elif model.source is not ModelSource.STARTER:  # whose installer has checked it
        place = f"{shown(model.place)}, {model.verification}, {place}"
    return _name(model), scanned.quantization or "", size(scanned.size), context, place


def _name(model: InstalledModel) -> str:
    return shown(clean_text(model.name))


def _printable(path: str) -> str:
    """A path in full; what could steer a terminal is replaced."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in path)


# --- deleting -------------------------------------------------------------------------------------


def _named(name: str, models: Sequence[InstalledModel]) -> InstalledModel:
    """The one model that is meant. Raises KnownError if there is none, several, or one to be left alone."""
    path = Path(name).absolute()
    found = [model for model in models if model.path == path]
    found = found or [model for model in models if name in (model.name, model.path.name)]
    found = found or [model for model in models if f"{model.place}/{model.path.name}" == name]
    if not found:
        raise KnownError(
            f"No model is called {shown(clean_text(name))}. `weir models` lists those there are."
        )
    if len(found) > 1:
        paths = "\n".join(f"  {_printable(str(model.path))} ({shown(model.place)})" for model in found)
        raise KnownError(
            f"{len(found)} models are called {shown(clean_text(name))}. Name one by its path:\n{paths}"
        )
    if reason := _why_not(found[0]):
        raise KnownError(f"{reason} Nothing was changed.")
    return found[0]


def _why_not(model: InstalledModel) -> str:
    """A sentence why `model` is to be left alone; empty if it can be deleted."""
    if model.real_path:
        real = _printable(str(model.real_path))
        return f"{_name(model)} really is {real}, outside of Weir's folders: it is only read there."
    if not model.can_be_deleted:
        return (
            f"{_name(model)} is {_SOURCES[model.source]}. Weir deletes no models but its own and those in "
            "folders that you added."
        )
    if is_mapped(model.path):
        return f"{_name(model)} is loaded by a running program. Load another model there, or close it."
    return ""


def _agreed(model: InstalledModel, is_sure: bool) -> bool:
    """Whether it may be deleted. Raises KnownError where nobody can be asked."""
    if is_sure:
        return True
    if not sys.stdin.isatty():
        raise KnownError("Nothing was deleted: nobody can be asked here. Say --yes if you are sure.")
    return _says_yes(f"Move {_name(model)} ({size(model.scanned.size)}) to the trash? [y/N] ")


def _delete(model: InstalledModel, is_sure: bool) -> bool | None:
    """Whether it is in the trash, or deleted for ever; None if it was kept. Raises KnownError."""
    try:
        move_to_trash(model.path)
    except NoTrash as error:
        if not is_sure and not _says_yes(f"{error}\nDelete it for ever? [y/N] "):
            return None
        delete_for_ever(model.path)
        return False
    return True


def _says_yes(question: str) -> bool:
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _note(sentence: str) -> int:
    print(f"weir: {sentence}", file=sys.stderr)
    return 1
