"""Other programs' folders are found where those programs keep their models, and belong to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.download.names import DOWNLOADS_FOLDER
from engine.models.known_folders import (
    ModelFolder,
    ModelSource,
    Surroundings,
    folder_of,
    model_folders,
    other_programs_folders,
    repository_in_path,
)
from engine.models.library_folders import UNFINISHED


def _found(home: Path, platform: str = "linux", **environ: str) -> dict[Path, ModelSource]:
    found = other_programs_folders(Surroundings(home, environ, platform))
    return {folder.path: folder.source for folder in found}


def _make(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def test_nothing_is_found_on_a_bare_machine(tmp_path: Path) -> None:
    assert _found(tmp_path) == {}


@pytest.mark.parametrize(
    ("platform", "below", "source"),
    [
        ("linux", ".lmstudio/models", ModelSource.LM_STUDIO),
        ("linux", ".cache/lm-studio/models", ModelSource.LM_STUDIO),
        ("linux", ".local/share/Jan/data/llamacpp/models", ModelSource.JAN),
        ("linux", ".config/Jan/data/models", ModelSource.JAN),
        ("linux", ".local/share/nomic.ai/GPT4All", ModelSource.GPT4ALL),
        ("linux", ".cache/huggingface/hub", ModelSource.HUGGING_FACE),
        ("darwin", "Library/Application Support/Jan/data/llamacpp/models", ModelSource.JAN),
        ("darwin", "Library/Application Support/nomic.ai/GPT4All", ModelSource.GPT4ALL),
        ("win32", "AppData/Roaming/Jan/data/llamacpp/models", ModelSource.JAN),
        ("win32", "AppData/Local/nomic.ai/GPT4All", ModelSource.GPT4ALL),
        ("win32", ".cache/huggingface/hub", ModelSource.HUGGING_FACE),
    ],
)
def test_a_program_is_found_in_its_usual_place(
    tmp_path: Path, platform: str, below: str, source: ModelSource
) -> None:
    folder = _make(tmp_path / below)
    assert _found(tmp_path, platform) == {folder: source}


def test_lm_studio_is_found_where_it_was_moved_to(tmp_path: Path) -> None:
    home, models = _make(tmp_path / "elsewhere"), _make(tmp_path / "big-disk")
    (tmp_path / ".lmstudio-home-pointer").write_text(f"{home}\n")
    (home / "settings.json").write_text(json.dumps({"downloadsFolder": str(models)}))
    own = _make(home / "models")
    assert _found(tmp_path) == {models: ModelSource.LM_STUDIO, own: ModelSource.LM_STUDIO}


@pytest.mark.parametrize(
    "settings", ["", "[", "[]", '{"downloadsFolder": 5}', "[" * 5000, '{"downloadsFolder": "a\\u0000"}']
)
def test_broken_settings_of_lm_studio_mean_its_usual_place(tmp_path: Path, settings: str) -> None:
    models = _make(tmp_path / ".lmstudio" / "models")
    (tmp_path / ".lmstudio" / "settings.json").write_text(settings)
    assert list(_found(tmp_path)) == [models]


@pytest.mark.parametrize(
    ("variable", "value", "below"),
    [
        ("HF_HOME", "{home}/hf", "hf/hub"),
        ("HF_HOME", "~/hf", "hf/hub"),
        ("HF_HUB_CACHE", "{home}/cache", "cache"),
        ("HUGGINGFACE_HUB_CACHE", "{home}/old", "old"),
        ("XDG_CACHE_HOME", "{home}/xdg", "xdg/huggingface/hub"),
    ],
)
def test_the_hubs_cache_follows_its_variables(tmp_path: Path, variable: str, value: str, below: str) -> None:
    folder = _make(tmp_path / below)
    _make(tmp_path / ".cache" / "huggingface" / "hub")
    assert list(_found(tmp_path, **{variable: value.format(home=tmp_path)})) == [folder]


def test_a_folder_of_another_program_stays_that_programs_if_the_user_adds_what_is_above(
    tmp_path: Path,
) -> None:
    models = _make(tmp_path / ".lmstudio" / "models")
    folders = model_folders(tmp_path / "own", [str(tmp_path)], Surroundings(tmp_path, {}, "linux"))
    assert [folder.source for folder in folders] == [
        ModelSource.WEIR,
        ModelSource.LM_STUDIO,
        ModelSource.FOLDER,
    ]
    assert folder_of(models / "m.gguf", folders).source is ModelSource.LM_STUDIO
    assert folder_of(tmp_path / "m.gguf", folders).source is ModelSource.FOLDER
    assert folder_of(tmp_path.parent / "m.gguf", folders).source is ModelSource.FILE


@pytest.mark.parametrize(
    ("source", "below", "repository"),
    [
        (ModelSource.HUGGING_FACE, "models--org--name/snapshots/abc/m.gguf", "org/name"),
        (ModelSource.HUGGING_FACE, "models--gpt2/snapshots/abc/m.gguf", "gpt2"),
        (ModelSource.HUGGING_FACE, "m.gguf", None),
        (ModelSource.WEIR, "org/name/m.gguf", "org/name"),
        (ModelSource.WEIR, "org/name/Q4/m.gguf", "org/name"),
        (ModelSource.WEIR, "imported/m.gguf", None),
        (ModelSource.LM_STUDIO, "org/name/m.gguf", "org/name"),
        (ModelSource.JAN, "org/name/m.gguf", None),
    ],
)
def test_the_repository_is_read_from_the_folders(
    source: ModelSource, below: str, repository: str | None
) -> None:
    top = Path("/top")
    assert repository_in_path(top / below, ModelFolder(top, source)) == repository


def test_downloads_grow_in_the_folder_that_is_not_searched() -> None:
    assert UNFINISHED == DOWNLOADS_FOLDER
