"""A reply and a measurement never disturb each other: whichever comes second waits, and says why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.data.bench_store import BenchStore
from app.model_pages import ModelPages
from app.services.bench_choices import BenchChoices
from app.services.bench_results import BenchResults
from app.services.benchmarks import Benchmarks
from app.services.gauge_history import GaugeHistory
from app.services.load_plans import LoadPlans
from app.services.notice import NoticeAction
from engine.protocol import Bench, BenchFinished
from tests.app.conftest import Desk
from tests.app.planned_machine import Bench as Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def benchmarks(desk: Desk, machine: Machine, tmp_path: Path) -> Iterator[Benchmarks]:
    """Those of the window's pages, as if the page had been opened on a planned machine."""
    weir, pages = desk.weir, desk.weir.pages.benchmarks
    plans = LoadPlans(machine.sources(), weir.loader, GaugeHistory())
    benchmarks = Benchmarks(
        weir.loader,
        plans,
        machine.sources(),
        desk.engine,
        BenchResults(BenchStore(tmp_path / "benchmarks.db")),
        unload=weir.loader.unload,
        others_at_work=pages._others_at_work,
    )
    benchmarks.ended.connect(pages._send_waiting)
    pages._benchmarks = benchmarks
    yield benchmarks
    plans.close()


def test_benchmark_waits_for_the_reply_that_is_being_written(
    desk: Desk, machine: Machine, benchmarks: Benchmarks
) -> None:
    chat = desk.engine.newest
    desk.send("Hello")
    benchmarks.start(BenchChoices((machine.model(),)))
    assert desk.engine.newest is chat  # no other engine yet
    desk.say(chat.finish, "Hi")
    assert isinstance(desk.engine.newest.sent[0], Bench)


def test_benchmark_waits_for_the_model_that_is_being_quantized(
    desk: Desk, machine: Machine, benchmarks: Benchmarks, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = desk.engine.newest
    monkeypatch.setattr(ModelPages, "is_quantizing", True)
    benchmarks.start(BenchChoices((machine.model(),)))
    assert desk.engine.newest is chat and benchmarks.waits_for_others
    monkeypatch.setattr(ModelPages, "is_quantizing", False)
    benchmarks.go_on()
    assert isinstance(desk.engine.newest.sent[0], Bench)


def test_message_waits_for_the_benchmark_is_told_why_and_is_sent_at_its_end(
    desk: Desk, machine: Machine, benchmarks: Benchmarks
) -> None:
    chat = desk.engine.newest
    benchmarks.start(BenchChoices((machine.model(),)))
    desk.send("And now?")
    assert chat.requests == []
    shown = desk.weir.window.banner.shown()
    assert shown is not None and shown.message.startswith("A benchmark is running")
    assert shown.action is NoticeAction.STOP_BENCHMARK
    desk.say(desk.engine.newest.say, BenchFinished(False))
    assert len(chat.requests) == 1
    assert desk.weir.window.banner.shown() is None
    desk.say(chat.finish, "Yes")
    assert desk.stored()[-1][0] == "Yes"


def test_button_of_the_notice_ends_the_benchmark(
    desk: Desk, machine: Machine, benchmarks: Benchmarks
) -> None:
    chat = desk.engine.newest
    benchmarks.start(BenchChoices((machine.model(),)))
    desk.send("And now?")
    desk.weir.window.banner.act()
    desk.weir.pages.benchmarks.stop()  # asked twice: at once
    assert not benchmarks.running
    assert len(chat.requests) == 1
