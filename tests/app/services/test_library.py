"""The library while Weir runs: what is found, what goes, what it is called, and who is told."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.installed_model import Fit, InstalledModel, Provenance, Verification
from app.data.library_file import LibraryFile
from app.services import library as library_module
from app.services.background import Background
from app.services.library import LibraryService
from engine.memory.memory_plan import Verdict
from engine.models.known_folders import ModelFolder, ModelSource
from tests.app.conftest import settle
from tests.app.library_stage import LibraryStage, small_model


class Listener:
    """What the library tells."""

    def __init__(self, library: LibraryService) -> None:
        self.found: list[str] = []
        self.gone: list[str] = []
        self.ended: list[tuple[str, ...]] = []
        library.found.connect(lambda models: self.found.extend(model.name for model in models))
        library.gone.connect(lambda paths: self.gone.extend(path.stem for path in paths))
        library.scan_ended.connect(self.ended.append)


@pytest.fixture
def make_stage(qtbot: QtBot, tmp_path: Path) -> Iterator[Callable[..., LibraryStage]]:
    stages: list[LibraryStage] = []

    def make(**others: object) -> LibraryStage:
        stages.append(LibraryStage(tmp_path, **others))  # type: ignore[arg-type]
        return stages[-1]

    yield make
    for stage in stages:
        stage.close()


@pytest.fixture
def stage(make_stage: Callable[..., LibraryStage]) -> LibraryStage:
    return make_stage()


def test_models_are_told_once_and_again_only_when_they_change(stage: LibraryStage) -> None:
    path = small_model(stage.own / "a.gguf")
    listener = Listener(stage.library)
    stage.library.refresh()
    stage.library.refresh()
    assert listener.found == ["a"]
    assert len(listener.ended) == 2
    stage.provenance[path] = Provenance("org/x", Verification.VERIFIED)
    stage.library.refresh()
    assert listener.found == ["a", "a"]
    assert stage.listed()["a.gguf"].verification is Verification.VERIFIED


def test_a_model_that_is_gone_stays_listed_until_that_is_known(stage: LibraryStage) -> None:
    path = small_model(stage.own / "a.gguf")
    stage.library.refresh()
    listener = Listener(stage.library)
    path.unlink()
    stage.jobs.holds = True
    stage.library.refresh()
    assert list(stage.listed()) == ["a.gguf"]
    while stage.jobs.held:
        stage.jobs.go()
    assert stage.listed() == {}
    assert listener.gone == ["a"]


def test_a_refresh_while_one_runs_is_done_after_it(stage: LibraryStage) -> None:
    small_model(stage.own / "a.gguf")
    listener = Listener(stage.library)
    stage.jobs.holds = True
    stage.library.refresh()
    stage.library.refresh()
    assert stage.library.is_scanning
    stage.jobs.holds = False
    stage.jobs.go()
    assert len(listener.ended) == 2
    assert not stage.library.is_scanning


def test_folders_are_added_and_taken_off_by_the_settings(stage: LibraryStage, tmp_path: Path) -> None:
    small_model(tmp_path / "more" / "b.gguf")
    stage.library.refresh()
    stage.library.add_folder(tmp_path / "more")
    stage.library.add_folder(tmp_path / "more")
    assert stage.preferences.settings.model_folders == (str(tmp_path / "more"),)
    assert stage.listed()["b.gguf"].source is ModelSource.FOLDER
    stage.library.remove_folder(tmp_path / "more")
    assert stage.listed() == {}
    assert (tmp_path / "more" / "b.gguf").exists()


def test_a_folder_that_cannot_be_searched_is_named(stage: LibraryStage, tmp_path: Path) -> None:
    listener = Listener(stage.library)
    stage.library.add_folder(tmp_path / "gone")
    assert "gone cannot be searched" in listener.ended[-1][0]


def test_a_label_lasts_and_the_file_keeps_its_name(make_stage: Callable[..., LibraryStage]) -> None:
    stage = make_stage()
    path = small_model(stage.own / "a.gguf")
    stage.library.refresh()
    stage.library.rename(path, "  My\nmodel ")
    assert stage.listed()["a.gguf"].name == "My model"
    again = make_stage()
    again.library.refresh()
    assert again.listed()["a.gguf"].name == "My model"
    again.library.rename(path, "")
    assert again.listed()["a.gguf"].name == "a"
    assert path.exists()


def test_a_label_like_the_files_name_is_none(stage: LibraryStage) -> None:
    path = small_model(stage.own / "a.gguf")
    stage.library.refresh()
    stage.library.rename(path, "a")
    assert stage.listed()["a.gguf"].label is None


def test_headers_are_not_read_again_after_a_restart(
    make_stage: Callable[..., LibraryStage], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = make_stage()
    small_model(stage.own / "a.gguf")
    stage.library.refresh()
    monkeypatch.setattr("engine.models.library_scan.headers_of", pytest.fail)
    again = make_stage()
    again.library.refresh()
    assert again.listed() == stage.listed()


def test_a_file_is_used_where_it_is_until_it_is_forgotten(
    make_stage: Callable[..., LibraryStage], tmp_path: Path
) -> None:
    path = small_model(tmp_path / "usb" / "b.gguf")
    stage = make_stage()
    stage.library.use_files([path])
    stage.library.use_files([path])
    assert stage.listed()["b.gguf"].source is ModelSource.FILE
    again = make_stage()
    again.library.refresh()
    assert list(again.listed()) == ["b.gguf"]
    again.library.forget_file(path)
    again.library.refresh()
    assert again.listed() == {}
    assert path.exists()


def test_how_a_model_fits_holds_while_its_file_does(stage: LibraryStage) -> None:
    path = small_model(stage.own / "a.gguf")
    stage.library.refresh()
    fit = Fit(Verdict.FITS, "It fits.")
    stage.library.take_fits({path: fit, Path("/gone.gguf"): fit})
    stage.library.refresh()
    assert stage.listed()["a.gguf"].fit == fit
    os.utime(path, ns=(1, 1))
    stage.library.refresh()
    assert stage.listed()["a.gguf"].fit is None


def test_a_model_copied_into_a_watched_folder_appears_by_itself(
    qtbot: QtBot, stage: LibraryStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_module, "REST_MS", 10)
    stage.library.refresh()
    small_model(stage.own / "a.gguf")
    qtbot.waitUntil(lambda: "a.gguf" in stage.listed())


def test_a_file_that_is_still_being_copied_is_looked_at_again(
    qtbot: QtBot, stage: LibraryStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_module, "_LOOK_AGAIN_MS", 10)
    path = small_model(stage.own / "a.gguf")
    content = path.read_bytes()
    path.write_bytes(content[:1000])
    stage.library.refresh()
    assert not stage.listed()["a.gguf"].can_be_chosen
    with path.open("r+b") as file:  # no entry of the folder changes by this
        file.write(content)
    qtbot.waitUntil(lambda: stage.listed()["a.gguf"].can_be_chosen)


def test_a_list_that_cannot_be_stored_is_told(stage: LibraryStage) -> None:
    notices: list[str] = []
    stage.library.notice.connect(lambda notice: notices.append(notice.message))
    stage.file.mkdir()
    small_model(stage.own / "a.gguf")
    stage.library.refresh()
    assert list(stage.listed()) == ["a.gguf"]
    assert "could not be stored" in notices[0]


def test_the_window_does_not_wait_for_a_slow_disk(qtbot: QtBot, tmp_path: Path) -> None:
    stage = LibraryStage(tmp_path)
    stage.close()
    small_model(stage.own / "a.gguf")

    def slow(_path: Path) -> None:
        time.sleep(0.3)

    library = LibraryService(
        stage.preferences,
        stage.own,
        LibraryFile(stage.file),
        slow,
        folders_of=lambda own, _added: (ModelFolder(own, ModelSource.WEIR),),
        make_runner=Background,
    )
    found: list[tuple[InstalledModel, ...]] = []
    library.found.connect(found.append)
    start = time.monotonic()
    library.refresh()
    assert time.monotonic() - start < 0.2
    assert found == []
    qtbot.waitUntil(lambda: len(found) == 1)
    library.close()
    settle()
