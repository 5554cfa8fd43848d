"""Deleting models: asked twice where nothing comes back, and never what is not the user's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from engine.models.known_folders import ModelFolder, ModelSource
from tests.app.library_stage import LibraryStage, small_model
from tests.generated_models import write_part


@pytest.fixture
def stage(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LibraryStage]:
    monkeypatch.setattr("send2trash.send2trash", Path.unlink)
    others = [ModelFolder(tmp_path / "jan", ModelSource.JAN)]
    stage = LibraryStage(tmp_path, others=others, starter=small_model(tmp_path / "site" / "starter.gguf"))
    yield stage
    stage.close()


@pytest.fixture
def told(stage: LibraryStage) -> list[str]:
    told: list[str] = []
    stage.removal.deleted.connect(lambda model: told.append(f"deleted {model.name}"))
    stage.removal.failed.connect(lambda _model, reason: told.append(reason))
    stage.removal.trash_missing.connect(lambda model, _reason: told.append(f"no trash for {model.name}"))
    return told


def test_one_of_two_equal_names_goes_and_the_other_stays(stage: LibraryStage, told: list[str]) -> None:
    """janhq/jan#4519"""
    paths = [small_model(stage.own / org / "x" / "m.gguf") for org in ("org-a", "org-b")]
    stage.library.refresh()
    stage.removal.to_trash(paths[0])
    assert [path.exists() for path in paths] == [False, True]
    assert set(stage.listed()) == {"org-b/x/m.gguf", "starter.gguf"}
    assert told == ["deleted m"]


def test_a_split_model_goes_whole(stage: LibraryStage) -> None:
    parts = [write_part(stage.own, n, tensor=b"blk.%d.attn_norm.weight" % n) for n in (1, 2)]
    stage.library.refresh()
    stage.removal.to_trash(parts[0])
    assert not any(part.exists() for part in parts)


def test_a_broken_model_can_be_deleted(stage: LibraryStage, told: list[str]) -> None:
    path = stage.own / "bad.gguf"
    path.write_bytes(b"<html>")
    stage.library.refresh()
    stage.removal.to_trash(path)
    assert told == ["deleted bad"]
    assert not path.exists()


def test_where_there_is_no_trash_nothing_goes_before_a_second_yes(
    stage: LibraryStage, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("send2trash.send2trash", refuse)
    path = small_model(stage.own / "m.gguf")
    stage.library.refresh()
    stage.removal.to_trash(path)
    assert told == ["no trash for m"]
    assert path.exists()
    stage.removal.for_ever(path)
    assert told == ["no trash for m", "deleted m"]
    assert not path.exists()


def test_other_programs_models_and_the_starter_are_never_deleted(
    stage: LibraryStage, told: list[str], tmp_path: Path
) -> None:
    paths = [small_model(tmp_path / "jan" / "m" / "model.gguf"), tmp_path / "site" / "starter.gguf"]
    stage.library.refresh()
    for path in paths:
        stage.removal.to_trash(path)
        stage.removal.for_ever(path)
        assert path.exists()
    assert len(told) == 4
    assert all("Weir deletes no models" in reason for reason in told)


def test_a_loaded_model_is_not_deleted_under_whatever_path_it_was_loaded(
    stage: LibraryStage, told: list[str], tmp_path: Path
) -> None:
    path = small_model(stage.own / "m.gguf")
    link = tmp_path / "link.gguf"
    link.symlink_to(path)
    stage.library.refresh()
    stage.in_use = [str(link)]
    stage.removal.to_trash(path)
    assert path.exists()
    assert told == ["m is loaded. Load another model first, then delete it."]
    stage.in_use = ["/gone.gguf"]
    stage.removal.to_trash(path)
    assert not path.exists()


def test_what_could_not_be_deleted_stays_listed(
    stage: LibraryStage, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small_model(stage.own / "m.gguf")
    stage.library.refresh()

    def refuse(_path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "in use")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        stage.removal.for_ever(path)
    assert "could not be deleted (in use)" in told[0]
    assert "m.gguf" in stage.listed()


def test_what_a_link_leads_to_elsewhere_is_refused_with_its_real_path(
    stage: LibraryStage, told: list[str], tmp_path: Path
) -> None:
    real = small_model(tmp_path / "elsewhere" / "out.gguf")
    (stage.own / "linkdir").symlink_to(real.parent, target_is_directory=True)
    stage.library.refresh()
    stage.removal.to_trash(stage.own / "linkdir" / "out.gguf")
    assert real.exists()
    (reason,) = told
    assert f"It really is {real}" in reason
