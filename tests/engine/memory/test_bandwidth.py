from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from engine.memory import bandwidth
from engine.memory.bandwidth import BandwidthStore, CPUBandwidth
from engine.memory.hardware import BandwidthSource, Device, Hardware
from engine.memory.kernel_speed import KernelSpeed

GIB = 2**30
CPU = Device("CPU", "A processor", "cpu", 16 * GIB, 8 * GIB)
MACHINE = Hardware("A processor", 8, 8, 16 * GIB, 8 * GIB, 0, 0, (CPU,), 16 * 2**20)
MEASURED = CPUBandwidth(12e9, 40e9)


def test_measuring_reads_at_a_rate_that_memory_can_have() -> None:
    start = time.monotonic()
    measured = bandwidth.measure_bandwidth(replace(MACHINE, n_physical_cores=2))
    assert time.monotonic() - start < 15
    assert measured is not None
    assert 1e8 < measured.one_thread < 1e12
    assert 1e8 < measured.all_cores < 5e12


def test_a_measurement_that_does_not_end_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandwidth, "_SECONDS_TO_MEASURE", 0.0)
    start = time.monotonic()
    assert bandwidth.measure_bandwidth(MACHINE) is None
    assert time.monotonic() - start < 5


def test_a_measurement_that_fails_is_none(capfd: pytest.CaptureFixture[str]) -> None:
    starved = replace(MACHINE, n_physical_cores=0)
    assert bandwidth.measure_bandwidth(starved) is None


@pytest.mark.parametrize(
    ("cache", "available", "size"),
    [
        (16 * 2**20, 8 * GIB, 128 * 2**20),
        (96 * 2**20, 8 * GIB, 288 * 2**20),
        (300 * 2**20, 8 * GIB, 512 * 2**20),
        (None, 8 * GIB, 192 * 2**20),
        (16 * 2**20, GIB - 1, None),
    ],
)
def test_the_buffer_outgrows_the_cache_and_leaves_the_ram(
    cache: int | None, available: int, size: int | None
) -> None:
    machine = replace(MACHINE, last_level_cache=cache, ram_available=available)
    assert bandwidth.buffer_bytes(machine) == size


def test_without_room_nothing_is_measured() -> None:
    assert bandwidth.measure_bandwidth(replace(MACHINE, ram_available=0)) is None


def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    store = BandwidthStore(tmp_path / "bandwidth.json")
    assert store.stored(MACHINE) is None
    store.keep(MACHINE, MEASURED)
    again = BandwidthStore(tmp_path / "bandwidth.json").stored(MACHINE)
    assert again is not None and replace(again, measured_at=0.0) == MEASURED
    assert again.measured_at == pytest.approx(time.time(), abs=60)
    assert store.stored(replace(MACHINE, ram_available=1, swap_total=7)) == again


def test_kernels_of_an_older_version_are_measured_again(tmp_path: Path) -> None:
    store = BandwidthStore(tmp_path / "bandwidth.json")
    for _ in range(3):
        store.keep(MACHINE, replace(MEASURED, kernels=KERNELS))
    assert not store.wants_more(MACHINE)
    text = (tmp_path / "bandwidth.json").read_text("utf-8")
    older = json.loads(text)
    del older["kernels"]["form"]
    (tmp_path / "bandwidth.json").write_text(json.dumps(older), "utf-8")
    assert store.wants_more(MACHINE)
    store.keep(MACHINE, replace(MEASURED, kernels=KERNELS))
    assert not store.wants_more(MACHINE)


@pytest.mark.parametrize(
    "changed", [{"cpu_name": "Another"}, {"n_physical_cores": 4}, {"ram_total": 32 * GIB}], ids=str
)
def test_another_machine_is_measured_anew(tmp_path: Path, changed: dict[str, int]) -> None:
    store = BandwidthStore(tmp_path / "bandwidth.json")
    store.keep(MACHINE, MEASURED)
    assert store.stored(replace(MACHINE, **changed)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("figure", ['"fast"', "-1", "NaN", "null", "true", "1e400"])
def test_a_figure_that_is_none_is_not_used(tmp_path: Path, figure: str) -> None:
    store = BandwidthStore(tmp_path / "bandwidth.json")
    store.keep(MACHINE, MEASURED)
    text = (tmp_path / "bandwidth.json").read_text("utf-8")
    (tmp_path / "bandwidth.json").write_text(text.replace("40000000000.0", figure), "utf-8")
    assert store.stored(MACHINE) is None


def test_the_processor_and_what_shares_its_ram_have_that_bandwidth() -> None:
    unit = Device("Vulkan0", "Some unit", "igpu", None, None, shares_ram=True)
    known = Device("CUDA0", "A card", "gpu", None, None, None, 1e12, BandwidthSource.DRIVER)
    unknown = Device("CUDA1", "Another card", "gpu", None, None)
    devices = (CPU, unit, known, unknown)
    found = bandwidth.with_bandwidth(replace(MACHINE, devices=devices), MEASURED)
    assert [device.bandwidth for device in found.devices] == [40e9, 40e9, 1e12, None]
    assert found.devices[0].bandwidth_source == BandwidthSource.MEASURED
    assert bandwidth.with_bandwidth(MACHINE, None) == MACHINE


def test_one_thread_counts_where_neighbours_slow_down_all() -> None:
    assert CPUBandwidth(12e9, 7e9).best == 12e9


KERNELS = KernelSpeed({"Q4_K": 10e9}, {"f16/128": 60e-9}, 4e-6)


def test_the_best_of_several_measurements_is_kept(tmp_path: Path) -> None:
    store = BandwidthStore(tmp_path / "bandwidth.json")
    store.keep(MACHINE, CPUBandwidth(12e9, 22e9, KernelSpeed({"Q4_K": 5e9}, {"f16/128": 90e-9}, 2e-6)))
    best = store.keep(MACHINE, CPUBandwidth(14e9, 18e9, KERNELS))
    assert (best.one_thread, best.all_cores) == (14e9, 22e9)
    assert best.kernels == KernelSpeed({"Q4_K": 10e9}, {"f16/128": 60e-9}, 2e-6)
    assert store.stored(MACHINE) == best


def test_it_is_measured_three_times_with_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1e9
    monkeypatch.setattr("engine.memory.bandwidth.time.time", lambda: now)
    store, wanted = BandwidthStore(tmp_path / "bandwidth.json"), []
    for _ in range(3):
        wanted.append(store.wants_more(MACHINE))
        store.keep(MACHINE, replace(MEASURED, kernels=KERNELS))
        wanted.append(store.wants_more(MACHINE))
        now += 3600
    assert wanted == [True, False, True, False, True, False]
    assert not store.wants_more(MACHINE)


def test_a_decode_that_read_more_proves_the_bandwidth_higher(tmp_path: Path) -> None:
    store = BandwidthStore(tmp_path / "bandwidth.json")
    store.prove(MACHINE, 50e9)
    assert store.stored(MACHINE) is None
    store.keep(MACHINE, MEASURED)
    for rate, best in ((30e9, 40e9), (48e9, 48e9), (1e12, 48e9)):
        store.prove(MACHINE, rate)
        stored = store.stored(MACHINE)
        assert stored is not None and stored.best == best
