"""Bringing models into Weir's folder while the window runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.services import model_import
from app.services.model_import import ModelImport
from tests.app.conftest import settle
from tests.app.library_stage import LibraryStage, small_model


@pytest.fixture
def stage(qtbot: QtBot, tmp_path: Path) -> Iterator[LibraryStage]:
    stage = LibraryStage(tmp_path)
    yield stage
    stage.close()


def test_a_copy_is_listed_in_its_new_place(stage: LibraryStage, tmp_path: Path) -> None:
    path = small_model(tmp_path / "usb" / "m.gguf")
    ended: list[Path | None] = []
    stage.imports.ended.connect(lambda _path, new: ended.append(new))
    stage.imports.start(path, moves=False)
    settle()
    assert list(stage.listed()) == ["imported/m.gguf"]
    assert ended == [stage.own / "imported" / "m.gguf"]


def test_progress_is_told_while_a_copy_runs_and_not_after_it(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_import, "_TELL_EACH_S", 0.0)
    monkeypatch.setattr("app.data.model_import._PIECE_BYTES", 1 << 16)
    stage = LibraryStage(tmp_path)
    imports = ModelImport(stage.library)
    told: list[float] = []
    imports.progress.connect(lambda _path, part: told.append(part))
    with qtbot.waitSignal(imports.ended):
        imports.start(small_model(tmp_path / "usb" / "m.gguf"), moves=False)
    n_told = len(told)
    settle()
    assert len(told) == n_told > 1
    assert told == sorted(told)
    assert 0 < told[0] <= told[-1] <= 1
    imports.close()
    stage.close()


def test_a_file_that_was_used_where_it_is_is_listed_once_after_it_was_moved(
    stage: LibraryStage, tmp_path: Path
) -> None:
    path = small_model(tmp_path / "usb" / "m.gguf")
    stage.library.use_files([path])
    stage.imports.start(path, moves=True)
    assert list(stage.listed()) == ["imported/m.gguf"]
    assert not path.exists()


def test_a_cancelled_import_leaves_nothing_and_the_next_one_runs(stage: LibraryStage, tmp_path: Path) -> None:
    path = small_model(tmp_path / "usb" / "m.gguf")
    stage.jobs.holds = True
    stage.imports.start(path, moves=False)
    stage.imports.cancel()
    stage.imports.start(path, moves=False)
    ended: list[Path | None] = []
    stage.imports.ended.connect(lambda _path, new: ended.append(new))
    stage.jobs.holds = False
    stage.jobs.go()
    assert ended == [None, stage.own / "imported" / "m.gguf"]


def test_a_file_that_is_gone_is_told(stage: LibraryStage, tmp_path: Path) -> None:
    reasons: list[str] = []
    stage.imports.failed.connect(lambda _path, reason: reasons.append(reason))
    stage.imports.start(tmp_path / "gone.gguf", moves=True)
    assert reasons == ["gone.gguf is not there any more. Nothing was changed."]
