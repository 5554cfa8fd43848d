"""Whether models fit here: counted in the background, each file once, by formulas alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.installed_model import Fit
from app.data.settings import SettingsStore
from app.services.gauge_history import GaugeHistory
from app.services.model_fits import ModelFits
from app.services.model_loader import ModelLoader
from app.services.preferences import Preferences
from engine.memory.memory_plan import Verdict
from engine.models.library_scan import scan_file
from tests import malformed_files as raw
from tests.app.planned_machine import MIB, Bench
from tests.app.scripted_engine import ScriptedEngine


class Counting:
    def __init__(self, folder: Path) -> None:
        self.bench = Bench(folder)
        store = SettingsStore(folder / "settings.json")
        preferences = Preferences(store, store.load()[0])
        self.reads: list[str] = []
        sources = self.bench.sources()

        def read(path: Path) -> object:
            self.reads.append(path.name)
            return sources.read_facts(path)

        self.fits = ModelFits(
            replace(sources, read_facts=read),  # type: ignore[arg-type]
            ModelLoader(preferences, ScriptedEngine()),
            GaugeHistory(),
            preferences,
        )
        self.known: dict[Path, Fit] = {}
        self.fits.counted.connect(self._take)

    def _take(self, fits: Mapping[Path, Fit]) -> None:
        self.known.update(fits)

    def count(self, *paths: str | Path) -> list[Verdict]:
        self.fits.count([scan_file(Path(path), {}) for path in paths])
        return [self.known[Path(path)].verdict for path in paths if Path(path) in self.known]


@pytest.fixture
def counting(qtbot: QtBot, tmp_path: Path) -> Counting:
    return Counting(tmp_path)


def test_a_model_fits_or_does_not_by_the_memory_of_now(counting: Counting) -> None:
    path = counting.bench.model()
    assert counting.count(path) == [Verdict.FITS]
    counting.bench.shrink_ram(10 * MIB)
    assert counting.count(path) == [Verdict.DOES_NOT_FIT]
    assert counting.known[Path(path)].sentence
    assert counting.reads == ["model.gguf"]  # its file is as it was
    assert counting.bench.probed <= 2


def test_a_file_that_has_changed_is_read_again(counting: Counting) -> None:
    path = Path(counting.bench.model())
    counting.count(path)
    path.write_bytes(path.read_bytes() + bytes(32))
    counting.count(path)
    assert counting.reads == ["model.gguf", "model.gguf"]


def test_a_file_that_became_broken_meanwhile_has_no_fit(counting: Counting) -> None:
    path = Path(counting.bench.model())
    model = scan_file(path, {})
    path.write_bytes(b"<html>")
    counting.fits.count([model])
    assert counting.known == {}


def _of_architecture(path: Path, name: bytes) -> Path:
    entries = [
        raw.string_entry(b"general.architecture", name),
        raw.uint32_entry(name + b".block_count", 1),
        raw.uint32_entry(name + b".context_length", 64),
    ]
    head = raw.header(1, len(entries)) + b"".join(entries) + raw.tensor_entry(b"blk.0.attn_norm.weight", (8,))
    path.write_bytes(head + bytes(-len(head) % 32 + 32))
    return path


def test_an_architecture_that_llama_cpp_does_not_have_is_named(counting: Counting, tmp_path: Path) -> None:
    """ggml-org/llama.cpp#7779"""
    path = _of_architecture(tmp_path / "new.gguf", b"nosucharch")
    assert counting.count(path) == [Verdict.CANNOT_CHAT]
    assert "has the architecture 'nosucharch'" in counting.known[path].sentence
    assert counting.bench.tried == []  # no process was started to find that out


def test_only_the_newer_of_two_lists_is_told(counting: Counting) -> None:
    paths = [counting.bench.model(name) for name in ("a", "b")]
    runner = counting.bench.runners["model-fits"]
    runner.holds = True
    counting.count(paths[0])
    counting.count(paths[1])
    runner.holds = False
    runner.go()
    assert list(counting.known) == [Path(paths[1])]
    counting.fits.close()
