from __future__ import annotations

import threading
from pathlib import Path

import pytest

from engine.memory.calibration import (
    CalibrationStore,
    DecodeTime,
    expected_speed,
    fitted,
    uncalibrated_speed,
)
from engine.memory.hardware import BandwidthSource, Device
from engine.memory.memory_wall import DecodeSpeed, seconds_per_token

GIB = 2**30
H200 = Device("CUDA0", "NVIDIA H200", "gpu", 140 * GIB, 139 * GIB, 0, 4.8e12, BandwidthSource.PUBLISHED)
SILENT = Device("Vulkan0", "Some GPU", "gpu", None, None)

# Measured on an NVIDIA H200: an 8B model as q4_0 (4.04 GB, 131,072 bytes of cache a token), and SmolLM2-135M.
LARGE = [
    DecodeTime(4.04e9 + 131_072 * depth, ms / 1000)
    for depth, ms in ((0, 2.90), (1024, 2.89), (4096, 3.06), (7000, 3.35))
]
SMALL = [DecodeTime(96.6e6 + 23_040 * depth, ms / 1000) for depth, ms in ((0, 1.05), (4096, 1.21))]
PRIOR = uncalibrated_speed(H200)


def errors(speed: DecodeSpeed | None, times: list[DecodeTime]) -> list[float]:
    assert speed is not None
    return [abs(seconds_per_token(time.bytes_read, speed) / time.seconds - 1) for time in times]


def test_measured_times_are_a_line() -> None:
    assert max(errors(fitted(LARGE, PRIOR), LARGE)) < 0.03
    both = fitted(LARGE + SMALL, PRIOR)
    assert max(errors(both, LARGE + SMALL)) < 0.06
    assert both is not None
    assert both.overhead == pytest.approx(1e-3, rel=0.1)
    assert both.bandwidth == pytest.approx(2.2e12, rel=0.05)


def test_one_measurement_of_a_large_model_tells_of_deeper_contexts() -> None:
    assert max(errors(fitted(LARGE[:1], PRIOR), LARGE)) < 0.05


def test_a_small_model_does_not_tell_that_the_memory_is_slow() -> None:
    # Its time is overhead, so that a line through it would make a large model three times too slow.
    for times in (SMALL[:1], SMALL):
        assert max(errors(fitted(times, PRIOR), LARGE)) < 0.2


def test_uncalibrated_a_fast_card_is_estimated_within_a_fifth() -> None:
    assert max(errors(PRIOR, LARGE + SMALL)) < 0.2


def test_one_disturbed_measurement_changes_nothing() -> None:
    times = [DecodeTime(4e9, 0.1), DecodeTime(4e9, 0.1), DecodeTime(4e9, 3.0), DecodeTime(4e9, 0.1)]
    assert fitted(times, None) == DecodeSpeed(40e9)


def test_a_processor_that_is_slower_or_faster_than_expected() -> None:
    prior = DecodeSpeed(20e9)
    for seconds, bandwidth in ((0.1, 10e9), (0.02, 50e9)):
        speed = fitted([DecodeTime(1e9, seconds)], prior)
        assert speed is not None
        assert speed.bandwidth == pytest.approx(bandwidth) and speed.overhead == 0


def test_times_that_fall_with_size_make_no_line() -> None:
    speed = fitted([DecodeTime(1e9, 0.2), DecodeTime(2e9, 0.1)], None)
    assert speed is not None and speed.bandwidth > 0 and speed.overhead >= 0


def test_nothing_measured_is_what_the_bandwidth_lets_expect(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "c.json")
    assert store.speed(H200, "Q4_0") is None
    assert expected_speed(H200, "Q4_0", store) == PRIOR == expected_speed(H200, "Q4_0", None)
    assert expected_speed(SILENT, "Q4_0", store) is None


def test_measurements_are_kept_for_device_and_quantization(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "c.json")
    for time in LARGE:
        store.add(H200, "Q4_0", time.bytes_read, time.seconds)
    store.add(SILENT, "Q4_0", 1e9, 0.1)
    again = CalibrationStore(tmp_path / "c.json")
    assert again.speed(H200, "Q4_0") == fitted(LARGE, PRIOR)
    assert again.speed(H200, "Q8_0") == fitted(LARGE, PRIOR)  # until that is measured itself
    assert again.speed(SILENT, "Q4_0") == DecodeSpeed(10e9)
    again.add(H200, "Q8_0", 8e9, 5e-3)
    assert again.speed(H200, "Q8_0") == fitted([DecodeTime(8e9, 5e-3)], PRIOR)


def test_a_card_that_moved_is_the_same_card(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "c.json")
    store.add(SILENT, "Q4_0", 1e9, 0.1)
    assert store.speed(Device("Vulkan1", "Some GPU", "gpu", None, None), "Q4_0") == DecodeSpeed(10e9)


def test_the_last_few_count_and_the_file_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    store = CalibrationStore(path)
    for seconds in [0.2] * 30 + [0.1] * 3:
        store.add(SILENT, "Q4_0", 1e9, seconds)
    assert store.speed(SILENT, "Q4_0") == DecodeSpeed(10e9)  # three of five
    for n in range(300):
        store.add(SILENT, "Q4_0", 1.05**n, 0.1)
    assert path.stat().st_size < 10_000


@pytest.mark.parametrize(
    ("size", "seconds"), [(0, 1), (1e9, 0), (-1, 1), (float("nan"), 1), (1, float("inf"))]
)
def test_what_cannot_be_true_is_left_out(tmp_path: Path, size: float, seconds: float) -> None:
    store = CalibrationStore(tmp_path / "c.json")
    store.add(SILENT, "Q4_0", size, seconds)
    assert store.speed(SILENT, "Q4_0") is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"gpu:Some GPU/Q4_0": 5}', '{"gpu:Some GPU/Q4_0": [[1], ["a", 2], null, [0, NaN]]}'],
)
def test_a_broken_file_is_an_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.json").write_text(text, "utf-8")
    store = CalibrationStore(tmp_path / "c.json")
    assert store.speed(SILENT, "Q4_0") is None
    store.add(SILENT, "Q4_0", 1e9, 0.1)
    assert store.speed(SILENT, "Q4_0") == DecodeSpeed(10e9)


def test_many_threads_may_use_it(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "c.json")

    def work(number: int) -> None:
        for _ in range(10):
            store.add(SILENT, f"Q{number}", 1e9, 0.1)
            assert store.speed(SILENT, f"Q{number}") == DecodeSpeed(10e9)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(CalibrationStore(tmp_path / "c.json").speed(SILENT, f"Q{n}") for n in range(4))
