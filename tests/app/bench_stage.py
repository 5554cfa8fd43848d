"""Benchmarks without an engine: records and results as a worker would tell them, and a page's services."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.data.bench_record import BenchRecord
from app.data.bench_store import BenchStore, RunFacts
from app.data.settings import SettingsStore
from app.services.bench_results import BenchResults
from app.services.benchmarks import Benchmarks
from app.services.gauge_history import GaugeHistory
from app.services.load_plans import LoadPlans
from app.services.model_loader import ModelLoader
from app.services.preferences import Preferences
from engine.protocol import (
    Bench,
    BenchCase,
    BenchFinished,
    BenchMachine,
    BenchModel,
    BenchNoise,
    BenchProgress,
    BenchResult,
    Event,
)
from tests.app.conftest import settle
from tests.app.data.bench_records import BARE
from tests.app.planned_machine import Bench as Machine
from tests.app.scripted_engine import ScriptedEngine

FIRST = RunFacts("first", 1_700_000_000.0, "Old processor · 8 GiB RAM")
SECOND = RunFacts("second", 1_700_100_000.0, "Test processor · 16 GiB RAM")

_RECORD = replace(
    BARE,
    build_commit="b1",
    build_number=1,
    cpu_info="Test processor",
    model_filename="/home/somebody/models/tiny.gguf",
    model_type="llama 135M Q4_1",
    model_size=98_000_000,
    n_gen=100,
    samples_ns=(2_000_000_000, 2_500_000_000),
    weir_version="1.0",
)


def record(**facts: Any) -> BenchRecord:
    """100 tokens at 50 and at 40 tokens a second, unless told otherwise."""
    return replace(_RECORD, **facts)


def prompt_record(**facts: Any) -> BenchRecord:
    """A prompt of 512 tokens at 512 tokens a second."""
    return record(**{"n_prompt": 512, "n_gen": 0, "test_kind": "pp", "samples_ns": (10**9,) * 2} | facts)


def result(case: BenchCase, *seconds: float, path: str = "/m/tiny.gguf", **facts: Any) -> BenchResult:
    """What a worker tells of `case`."""
    samples = tuple(round(1e9 * second) for second in seconds or (2.0, 2.5))
    values: dict[str, Any] = {"device": "CPU", "noise": BenchNoise(2.0, False, "mains"), **facts}
    return BenchResult(
        replace(case, n_threads=2, v_type=case.k_type),
        case.kind,
        BenchModel(path, "llama 135M Q4_1", 98_000_000, 134_515_008),
        BenchMachine("b1", 1, "Test processor", "", "CPU"),
        "2026-01-31T12:00:00Z",
        samples,
        **values,
    )


@dataclass
class BenchStage:
    """The services of the page over a machine and an engine of the test's own."""

    folder: Path
    engine: ScriptedEngine = field(default_factory=ScriptedEngine)
    unloaded: int = 0
    is_busy: bool = False

    def __post_init__(self) -> None:
        self.machine = Machine(self.folder)
        store = SettingsStore(self.folder / "settings.json")
        self.loader = ModelLoader(Preferences(store, store.load()[0]), self.engine)
        self.plans = LoadPlans(self.machine.sources(), self.loader, GaugeHistory())
        self.store = BenchStore(self.folder / "benchmarks.db")
        self.results = BenchResults(self.store)
        self.service = Benchmarks(
            self.loader,
            self.plans,
            self.machine.sources(),
            self.engine,
            self.results,
            unload=self._unload,
            others_at_work=lambda: self.is_busy,
        )

    def close(self) -> None:
        self.service.close()
        self.plans.close()
        self.loader.close(1.0)

    def load(self, path: str) -> None:
        """Have a model of the chat's loaded."""
        self.loader.load(path)
        self.say_load()

    def say_load(self) -> None:
        self.engine.newest.load()
        settle()

    def commands(self) -> list[Bench]:
        """What the workers were asked to measure."""
        sent = [client.sent[0] for client in self.engine.clients if client.sent]
        return [command for command in sent if isinstance(command, Bench)]

    def say(self, event: Event) -> None:
        self.engine.newest.say(event)
        settle()

    def progress(self, n_done: int, n_total: int = 12, left: float | None = None, index: int = 0) -> None:
        assert self.service.current is not None
        cases = self.service.current.cases
        self.say(BenchProgress(cases[index], index, len(cases), n_done, n_total, left))

    def measure(self, *seconds: float, index: int = 0, **facts: Any) -> None:
        """The newest worker has measured a case."""
        assert self.service.current is not None
        self.say(result(self.service.current.cases[index], *seconds, **facts))

    def finish(self, *, aborted: bool = False) -> None:
        self.say(BenchFinished(aborted))

    def _unload(self) -> None:
        self.unloaded += 1
        self.loader._leave_current()
        self.loader.changed.emit()
