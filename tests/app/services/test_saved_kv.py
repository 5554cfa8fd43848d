"""Saved KV from the window's side: counted, cleared, and gone with the chats that it was of."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.data.paths import saved_kv_dir
from app.data.saved_kv import saved_kv
from app.data.settings import Settings, SettingsStore
from app.services.model_engine import load_command
from app.services.preferences import Preferences
from app.services.saved_kv import SavedKVService
from engine.kv_folder import KVFolder
from engine.protocol import SavedKV, variant_chat_id
from tests.app.conftest import Desk
from tests.app.planned_machine import AtOnce

MIB = 2**20


class Stage:
    """The service over a folder in which chats "a", "b" and "c" are saved, c used last, with 100 MiB each."""

    def __init__(self, folder: Path) -> None:
        self.preferences = Preferences(SettingsStore(folder / "settings.json"), Settings())
        self.jobs = AtOnce()
        self.folder = KVFolder(folder / "saved-kv")
        self.folder.folder.mkdir()
        for number, chat_id in enumerate("abc"):
            self.put(chat_id, number)
        self.service = SavedKVService(self.preferences, self.folder.folder, lambda _name: self.jobs)
        self.told: list[int] = []
        self.service.measured.connect(self.told.append)

    def put(self, chat_id: str, used: int = 0) -> None:
        path = self.folder.path_of(chat_id, "model")
        with path.open("wb") as file:
            file.truncate(100 * MIB)  # a hole
        os.utime(path, (1000 + used, 1000 + used))

    def kept(self) -> list[str]:
        return [name for name in "abc" if self.folder.path_of(name, "model").exists()]


@pytest.fixture
def stage(qapp: QApplication, tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_the_size_is_counted_off_the_windows_thread(stage: Stage) -> None:
    stage.jobs.holds = True
    stage.service.measure()
    assert stage.told == []
    stage.jobs.go()
    assert stage.told == [300 * MIB]


def test_more_bytes_than_a_c_int_holds_are_told(stage: Stage) -> None:
    with stage.folder.path_of("a", "other model").open("wb") as file:
        file.truncate(5 * 2**30)
    stage.service.measure()
    assert stage.told == [5 * 2**30 + 300 * MIB]


def test_clearing_leaves_nothing_and_says_so(stage: Stage) -> None:
    stage.service.clear()
    assert stage.kept() == []
    assert stage.told == [0]


def test_a_deleted_chat_leaves_nothing(stage: Stage) -> None:
    stage.put(variant_chat_id("b", 2))
    stage.service.forget("b")
    assert stage.kept() == ["a", "c"]
    assert stage.told == [200 * MIB]


def test_what_is_left_of_deleted_chats_goes_when_the_chats_are_known(stage: Stage) -> None:
    stage.service.tidy(["a", "c", "new"])
    assert stage.kept() == ["a", "c"]


def test_a_smaller_budget_holds_at_once(stage: Stage) -> None:
    stage.preferences.update(saved_kv_budget=256 * MIB)
    assert stage.kept() == ["b", "c"]
    stage.preferences.update(saved_kv_budget=2**30)
    assert stage.kept() == ["b", "c"]


def test_other_settings_count_nothing(stage: Stage) -> None:
    stage.preferences.update(theme="dark")
    assert stage.told == []


def test_switching_it_off_removes_what_was_kept(stage: Stage) -> None:
    stage.preferences.update(saved_kv=False)
    assert stage.kept() == []


def test_switched_off_nothing_stays_that_a_worker_saved_at_its_end(stage: Stage) -> None:
    stage.preferences.update(saved_kv=False)
    stage.put("a")
    stage.service.close()
    assert stage.kept() == []


def test_closing_keeps_what_is_to_be_kept(stage: Stage) -> None:
    stage.service.close()
    assert stage.kept() == ["a", "b", "c"]


def test_switched_off_nothing_stays_over_a_start(tmp_path: Path, stage: Stage) -> None:
    preferences = Preferences(SettingsStore(tmp_path / "settings.json"), Settings(saved_kv=False))
    SavedKVService(preferences, stage.folder.folder, lambda _name: AtOnce()).tidy(["a", "b", "c"])
    assert stage.kept() == []


def test_a_folder_that_is_not_there_is_empty(stage: Stage) -> None:
    stage.service.clear()
    stage.folder.folder.rmdir()
    stage.service.tidy(["a"])
    stage.service.measure()
    assert stage.told[-1] == 0
    assert not stage.folder.folder.exists()


# --- what the worker is told --------------------------------------------------------------------------


def test_models_are_loaded_with_the_folder_and_the_budget(home: Path) -> None:
    settings = Settings(saved_kv_budget=2**30)
    assert saved_kv(settings) == SavedKV(str(home / "saved-kv"), 2**30)
    assert saved_kv(replace(settings, saved_kv=False)) is None
    assert not saved_kv_dir().exists()


def test_a_load_command_says_so(home: Path) -> None:
    for settings in (Settings(), Settings(saved_kv=False)):
        command = load_command("/m.gguf", settings.load_settings, settings)
        assert command.saved_kv == saved_kv(settings)


def test_the_window_loads_models_so(desk: Desk, home: Path) -> None:
    assert desk.engine.newest.load_command.saved_kv == SavedKV(str(home / "saved-kv"), 4 * 2**30)
    desk.weir.preferences.update(saved_kv=False)
    desk.weir.loader.load("/models/other.gguf")
    assert desk.engine.newest.load_command.saved_kv is None
