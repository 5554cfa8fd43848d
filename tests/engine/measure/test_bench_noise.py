"""What disturbs a measurement is told, and what the system does not tell is None."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from engine.measure.bench_noise import NoiseMeter, power_source
from engine.memory.nvidia import Card


class Times:
    """The machine's and the process's CPU seconds, as psutil would tell them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.busy = self.own = self.now = 0.0
        monkeypatch.setattr(psutil, "cpu_times", lambda: SimpleNamespace(user=self.busy, idle=1e6))
        process = SimpleNamespace(cpu_times=lambda: SimpleNamespace(user=self.own, system=0.0))
        monkeypatch.setattr(psutil, "Process", lambda _pid: process)
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)


def test_other_load_is_what_this_process_did_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    times = Times(monkeypatch)
    meter = NoiseMeter()
    times.busy, times.own, times.now = 30.0, 18.0, 10.0
    assert meter.noise().other_load_pct == pytest.approx(120)


def test_rounding_gives_no_negative_load(monkeypatch: pytest.MonkeyPatch) -> None:
    times = Times(monkeypatch)
    meter = NoiseMeter()
    times.busy, times.own, times.now = 9.99, 10.0, 10.0
    assert meter.noise().other_load_pct == 0


def test_a_container_that_counts_nothing_is_no_quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    times = Times(monkeypatch)
    meter = NoiseMeter()
    times.own, times.now = 10.0, 10.0
    assert meter.noise().other_load_pct is None


def test_without_time_there_is_no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    Times(monkeypatch)
    assert NoiseMeter().noise().other_load_pct is None


def test_a_process_that_has_ended_disturbs_nothing() -> None:
    process = multiprocessing.get_context("spawn").Process(target=int)
    process.start()
    meter = NoiseMeter((None, process.pid))
    process.join()
    assert meter.noise().power_source in ("mains", "battery", None)


def throttle_count(cpus: Path, count: int) -> None:
    file = cpus / "cpu0" / "thermal_throttle" / "core_throttle_count"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{count}\n")


@pytest.mark.parametrize(("after", "throttled"), [(7, False), (9, True)])
def test_a_processor_that_was_too_hot_is_told(tmp_path: Path, after: int, throttled: bool) -> None:
    throttle_count(tmp_path, 7)
    meter = NoiseMeter(cpus=tmp_path)
    throttle_count(tmp_path, after)
    assert meter.noise().throttled is throttled


def test_a_card_that_was_too_hot_is_told(tmp_path: Path) -> None:
    cards = (Card("a", throttled_by=()), Card("b", throttled_by=("temperature",)))
    assert NoiseMeter(cpus=tmp_path, read_cards=lambda: cards).noise().throttled is True


def test_what_nobody_tells_is_not_known(tmp_path: Path) -> None:
    assert NoiseMeter(cpus=tmp_path, read_cards=lambda: None).noise().throttled is None


@pytest.mark.parametrize(("plugged", "source"), [(True, "mains"), (False, "battery"), (None, None)])
def test_the_battery_is_told(
    monkeypatch: pytest.MonkeyPatch, plugged: bool | None, source: str | None
) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: SimpleNamespace(power_plugged=plugged))
    assert power_source() == source


def test_a_machine_without_a_battery_is_on_mains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None)
    assert power_source() == "mains"


def test_the_meter_counts_its_own_work_as_its_own() -> None:
    meter = NoiseMeter()
    end = time.perf_counter() + 0.3
    while time.perf_counter() < end:
        pass
    load = meter.noise().other_load_pct
    n_cores = psutil.cpu_count() or 1
    assert load is None or load <= 100 * n_cores
