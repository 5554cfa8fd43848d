"""A benchmark from the window's service down to the real engine and back into the database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import pytest
from pytestqt.qtbot import QtBot

from app.data.bench_store import BenchStore
from app.data.settings import SettingsStore
from app.services.bench_choices import BenchChoices
from app.services.bench_results import BenchResults
from app.services.benchmarks import Benchmarks
from app.services.gauge_history import GaugeHistory
from app.services.load_plans import LoadPlans
from app.services.model_loader import ModelLoader
from app.services.plan_sources import this_machine
from app.services.preferences import Preferences
from engine.client import EngineClient


@pytest.fixture
def benchmarks(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Benchmarks]:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    store = SettingsStore(tmp_path / "settings.json")
    loader = ModelLoader(Preferences(store, store.load()[0]), EngineClient)
    sources = this_machine()
    plans = LoadPlans(sources, loader, GaugeHistory())
    results = BenchResults(BenchStore(tmp_path / "benchmarks.db"))
    benchmarks = Benchmarks(loader, plans, sources, EngineClient, results, unload=lambda: None)
    yield benchmarks
    benchmarks.close()
    plans.close()
    loader.close(1.0)


def test_a_small_benchmark_is_measured_and_stored(
    benchmarks: Benchmarks, qtbot: QtBot, starter_model: Path, tmp_path: Path
) -> None:
    choices = BenchChoices((str(starter_model),), prompts=(16,), gens=(4,), threads=(1,), repetitions=2)
    with qtbot.waitSignal(benchmarks.ended, timeout=60_000):
        benchmarks.start(choices)
    assert benchmarks.problems == []
    [run] = BenchStore(tmp_path / "benchmarks.db").runs()
    prompt, generation = (stored.record for stored in run.results)
    assert (prompt.test, generation.test) == ("pp16", "tg4")
    for record in (prompt, generation):
        assert len(record.samples_ns) == 2 and record.median_ts and record.median_ts > 1
        assert (record.n_threads, record.aborted, record.model_filename) == (1, False, str(starter_model))
    assert generation.limit_ts and generation.median_ts and generation.median_ts < generation.limit_ts
    assert generation.cpu_info in run.facts.machine
