"""The library as the window has it: real threads, a machine to fit into, and a model that is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.data.settings import SettingsStore
from app.model_library import ModelLibrary
from app.services.gauge_history import GaugeHistory
from app.services.model_loader import ModelLoader
from app.services.preferences import Preferences
from engine.memory.memory_plan import Verdict
from tests import malformed_files as raw
from tests.app.conftest import settle
from tests.app.library_stage import small_model
from tests.app.planned_machine import MIB, Bench
from tests.app.scripted_engine import ScriptedEngine


class Shelf:
    def __init__(self, qtbot: QtBot, home: Path) -> None:
        self.own = home / "models"
        self.starter = small_model(home / "site" / "starter.gguf")
        store = SettingsStore(home / "settings.json")
        self.preferences = Preferences(store, store.load()[0])
        self.engine = ScriptedEngine()
        self.loader = ModelLoader(self.preferences, self.engine)
        self.bench = Bench(home)
        self.library = ModelLibrary(
            self.preferences,
            self.loader,
            GaugeHistory(),
            sources=self.bench.sources(),
            starter=str(self.starter),
        )
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.window.setMinimumSize(320, 200)
        QVBoxLayout(self.window).addWidget(self.library.page)
        self.window.resize(800, 500)

    def verdict(self, path: Path) -> Verdict | None:
        model = self.library.service.models.get(path)
        return model.fit.verdict if model and model.fit else None


@pytest.fixture
def shelf(qtbot: QtBot, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    monkeypatch.setenv("HOME", str(home / "home"))
    for variable in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    shelf = Shelf(qtbot, home)
    yield shelf
    shelf.library.close()
    shelf.loader.close(1)
    settle()


def test_rows_appear_and_then_tell_how_they_fit(qtbot: QtBot, shelf: Shelf) -> None:
    path = small_model(shelf.own / "org" / "x" / "m.gguf")
    shelf.bench.shrink_ram(10 * MIB)
    shelf.window.show()
    qtbot.waitUntil(lambda: shelf.verdict(path) is Verdict.DOES_NOT_FIT)
    assert shelf.library.page.models.rowCount() == 2


def test_the_loaded_model_is_marked_and_cannot_be_deleted(qtbot: QtBot, shelf: Shelf) -> None:
    path = small_model(shelf.own / "m.gguf")
    shelf.window.show()
    qtbot.waitUntil(lambda: path in shelf.library.service.models)
    model = shelf.library.service.models[path]
    assert shelf.library.removal.why_not(model) == ""
    shelf.loader.load(str(path))
    assert "is loaded" in shelf.library.removal.why_not(model)
    shelf.engine.newest.load()
    settle()
    assert shelf.library.page.list.loaded == path
    shelf.library.removal.to_trash(path)
    assert path.exists()


def test_an_architecture_that_llama_cpp_does_not_know_cannot_be_chosen_and_says_why(
    qtbot: QtBot, shelf: Shelf
) -> None:
    """ggml-org/llama.cpp#7779"""
    entry = raw.string_entry(b"general.architecture", b"nosucharch")
    head = raw.header(1, 1) + entry + raw.tensor_entry(b"blk.0.attn_norm.weight", (8,))
    path = shelf.own / "new.gguf"
    path.write_bytes(head + bytes(-len(head) % 32 + 32))
    shelf.window.show()
    qtbot.waitUntil(lambda: path in shelf.library.service.models)
    model = shelf.library.service.models[path]
    assert not model.can_be_chosen
    assert model.reason is not None and "nosucharch" in model.reason
    page = shelf.library.page
    assert page.models.row_of(path) == page.models.rowCount() - 1
    page.list.mark(path)
    assert not page.foot.load.isEnabled()
    assert page.foot.reason.text() == model.reason


def test_closing_in_the_middle_of_a_look_is_quiet(qtbot: QtBot, shelf: Shelf) -> None:
    for number in range(20):
        small_model(shelf.own / f"m{number}.gguf")
    shelf.window.show()
    shelf.library.close()
    listed = dict(shelf.library.service.models)
    qtbot.wait(50)
    assert shelf.library.service.models == listed
