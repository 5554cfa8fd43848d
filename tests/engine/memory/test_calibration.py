from __future__ import annotations

import threading
from dataclasses import replace
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
from engine.memory.kernel_speed import KernelSpeed
from engine.memory.memory_wall import DecodeSpeed, seconds_of
from engine.memory.token_work import TokenWork

GIB = 2**30
H200 = Device("CUDA0", "NVIDIA H200", "gpu", 140 * GIB, 139 * GIB, 0, 4.8e12, BandwidthSource.PUBLISHED)
SILENT = Device("Vulkan0", "Some GPU", "gpu", None, None)


def work(n_bytes: float) -> TokenWork:
    return TokenWork({"Q4_0": n_bytes})


def took(n_bytes: float, seconds: float) -> DecodeTime:
    return DecodeTime(work(n_bytes), seconds)


# Measured on an NVIDIA H200: an 8B model as q4_0 (4.04 GB, 131,072 bytes of cache a token), and SmolLM2-135M.
LARGE = [
    took(4.04e9 + 131_072 * depth, ms / 1000)
    for depth, ms in ((0, 2.90), (1024, 2.89), (4096, 3.06), (7000, 3.35))
]
SMALL = [took(96.6e6 + 23_040 * depth, ms / 1000) for depth, ms in ((0, 1.05), (4096, 1.21))]
PRIOR = uncalibrated_speed(H200)


def errors(speed: DecodeSpeed | None, times: list[DecodeTime]) -> list[float]:
    assert speed is not None
    return [abs(seconds_of(time.work, speed) / time.seconds - 1) for time in times]


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
    times = [took(4e9, 0.1), took(4e9, 0.1), took(4e9, 3.0), took(4e9, 0.1)]
    assert fitted(times, None) == DecodeSpeed(40e9)


def test_a_processor_that_is_slower_or_faster_than_expected() -> None:
    prior = DecodeSpeed(20e9)
    for seconds, bandwidth in ((0.1, 10e9), (0.04, 25e9)):
        speed = fitted([took(1e9, seconds)], prior)
        assert speed is not None
        assert speed.bandwidth == pytest.approx(bandwidth) and speed.overhead == 0


def test_times_that_fall_with_size_make_no_line() -> None:
    speed = fitted([took(1e9, 0.2), took(2e9, 0.1)], None)
    assert speed is not None and speed.bandwidth > 0 and speed.overhead >= 0


def test_nothing_measured_is_what_the_bandwidth_lets_expect(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "c.json")
    assert store.speed(H200, "Q4_0") is None
    assert expected_speed(H200, "Q4_0", store) == PRIOR == expected_speed(H200, "Q4_0", None)
    assert expected_speed(SILENT, "Q4_0", store) is None


def test_measurements_are_kept_for_device_and_quantization(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "c.json")
    for time in LARGE:
        store.add(H200, "Q4_0", time.work, time.seconds)
    store.add(SILENT, "Q4_0", work(1e9), 0.1)
    again = CalibrationStore(tmp_path / "c.json")
    assert again.speed(H200, "Q4_0") == fitted(LARGE, PRIOR)
    assert again.speed(H200, "Q8_0") == fitted(LARGE, PRIOR)  # until that is measured itself
    assert again.speed(SILENT, "Q4_0") == DecodeSpeed(10e9)
    again.add(H200, "Q8_0", work(8e9), 5e-3)
    assert again.speed(H200, "Q8_0") == fitted([took(8e9, 5e-3)], PRIOR)


def test_a_card_that_moved_is_the_same_card(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "c.json")
    store.add(SILENT, "Q4_0", work(1e9), 0.1)
    assert store.speed(Device("Vulkan1", "Some GPU", "gpu", None, None), "Q4_0") == DecodeSpeed(10e9)


def test_the_last_few_count_and_the_file_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    store = CalibrationStore(path)
    for seconds in [0.2] * 30 + [0.1] * 3:
        store.add(SILENT, "Q4_0", work(1e9), seconds)
    assert store.speed(SILENT, "Q4_0") == DecodeSpeed(10e9)  # three of five
    for n in range(300):
        store.add(SILENT, "Q4_0", work(1.05**n), 0.1)
    assert path.stat().st_size < 20_000


@pytest.mark.parametrize(
    ("size", "seconds"), [(0, 1), (1e9, 0), (-1, 1), (float("nan"), 1), (1, float("inf"))]
)
def test_what_cannot_be_true_is_left_out(tmp_path: Path, size: float, seconds: float) -> None:
    store = CalibrationStore(tmp_path / "c.json")
    store.add(SILENT, "Q4_0", work(size), seconds)
    assert store.speed(SILENT, "Q4_0") is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"gpu:Some GPU/Q4_0": 5}', '{"gpu:Some GPU/Q4_0": [[1], ["a", 2], null, [0, NaN]]}'],
)
def test_a_broken_file_is_an_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.json").write_text(text, "utf-8")
    store = CalibrationStore(tmp_path / "c.json")
    assert store.speed(SILENT, "Q4_0") is None
    store.add(SILENT, "Q4_0", work(1e9), 0.1)
    assert store.speed(SILENT, "Q4_0") == DecodeSpeed(10e9)


def test_many_threads_may_use_it(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "c.json")

    def add(number: int) -> None:
        for _ in range(10):
            store.add(SILENT, f"Q{number}", work(1e9), 0.1)
            assert store.speed(SILENT, f"Q{number}") == DecodeSpeed(10e9)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(CalibrationStore(tmp_path / "c.json").speed(SILENT, f"Q{n}") for n in range(4))


# --- a processor whose kernels were measured ---

KERNELS = KernelSpeed({"Q4_K": 10e9, "Q8_0": 16e9}, {"f16/128/4/flash": 60e-9}, 1e-6, 3e-6)
CPU = Device("CPU", "A processor", "cpu", GIB, GIB, 0, 20e9, BandwidthSource.MEASURED, kernels=KERNELS)
SMALL_WORK = TokenWork({"Q8_0": 0.1e9}, n_layers=30, n_logits=49_000)
LARGE_WORK = TokenWork({"Q4_K": 4e9}, n_layers=32, n_logits=128_000)


def test_kernels_and_overhead_keep_a_tiny_model_from_infinite_speed() -> None:
    speed = uncalibrated_speed(CPU)
    assert speed is not None
    assert 500 < 1 / seconds_of(TokenWork({"F32": 1e5}, n_layers=2, n_logits=300), speed) < 2_500


def test_quantized_weights_take_the_time_of_computing_them() -> None:
    speed = uncalibrated_speed(CPU)
    assert speed is not None
    assert seconds_of(LARGE_WORK, speed) == pytest.approx(4e9 / 10e9, rel=0.05)
    full = TokenWork({"Q4_K": 4e9}, 0.5e9, 4096 * 32 * 32, 128, "f16", 32, 128_000, 4)
    attention = seconds_of(full, speed) - seconds_of(LARGE_WORK, speed)
    assert attention == pytest.approx(4096 * 32 * 32 * 60e-9)


def test_what_a_small_model_shows_moves_a_large_one_within_bounds(tmp_path: Path) -> None:
    expected = uncalibrated_speed(CPU)
    assert expected is not None
    store = CalibrationStore(tmp_path / "c.json")
    for seconds in (0.2, 0.15, 0.3):  # ten times as slow as it should be
        store.add(CPU, "Q4_1", SMALL_WORK, seconds)
    calibrated = store.speed(CPU, "Q4_K")
    assert calibrated is not None
    assert seconds_of(LARGE_WORK, calibrated) <= 2 * seconds_of(LARGE_WORK, expected)


def deep(depth: int) -> TokenWork:
    cache = depth * 131_072
    return replace(LARGE_WORK, kv_bytes=cache, head_cells=depth * 32 * 32, head_size=128, sharing=4)


def a_machine(base_factor: float, attention_factor: float) -> DecodeSpeed:
    expected = uncalibrated_speed(CPU)
    assert expected is not None
    return replace(expected, base_factor=base_factor, attention_factor=attention_factor)


@pytest.mark.parametrize("measured_at", [0, 1024, 4096])
@pytest.mark.parametrize("factors", [(1.4, 1.0), (0.8, 1.0), (1.2, 1.1), (1.0, 0.9)])
def test_one_measurement_at_one_depth_tells_those_at_others(
    factors: tuple[float, float], measured_at: int
) -> None:
    truth = a_machine(*factors)
    seconds = seconds_of(deep(measured_at), truth)
    calibrated = fitted([DecodeTime(deep(measured_at), seconds)], uncalibrated_speed(CPU))
    assert calibrated is not None
    for depth in (0, 1024, 4096):
        assert seconds_of(deep(depth), calibrated) == pytest.approx(seconds_of(deep(depth), truth), rel=0.1)


def test_two_depths_tell_base_and_attention_apart() -> None:
    truth = a_machine(0.8, 1.2)
    times = [DecodeTime(deep(depth), seconds_of(deep(depth), truth)) for depth in (0, 4096, 16_384)]
    calibrated = fitted(times, uncalibrated_speed(CPU))
    assert calibrated is not None
    assert calibrated.base_factor == pytest.approx(0.8, rel=0.03)
    assert calibrated.attention_factor == pytest.approx(1.2, rel=0.03)


@pytest.mark.parametrize("disturbed_at", [0, 4096, 16_384])
def test_a_disturbed_depth_changes_little_beside_calm_ones(disturbed_at: int) -> None:
    truth = a_machine(1.3, 1.0)
    times = []
    for depth in (0, 4096, 16_384):
        seconds = seconds_of(deep(depth), truth)
        times.append(DecodeTime(deep(depth), 2.5 * seconds if depth == disturbed_at else seconds))
    calibrated = fitted(times, uncalibrated_speed(CPU))
    assert calibrated is not None
    for depth in (0, 4096, 16_384):
        assert seconds_of(deep(depth), calibrated) == pytest.approx(seconds_of(deep(depth), truth), rel=0.1)


def test_how_attention_was_computed_is_kept_with_its_time(tmp_path: Path) -> None:
    plain = replace(deep(4096), flash_attention=False)
    CalibrationStore(tmp_path / "c.json").add(CPU, "Q4_K", plain, 0.5)
    again = CalibrationStore(tmp_path / "c.json").speed(CPU, "Q4_K")
    assert again == fitted([DecodeTime(plain, 0.5)], uncalibrated_speed(CPU))


def test_a_quick_reply_counts_more_than_slow_ones(tmp_path: Path) -> None:
    expected = uncalibrated_speed(CPU)
    assert expected is not None
    calm = seconds_of(LARGE_WORK, expected) * 1.1
    store = CalibrationStore(tmp_path / "c.json")
    for seconds in (calm, 3 * calm, calm, 2 * calm, 1.8 * calm):
        store.add(CPU, "Q4_K", LARGE_WORK, seconds)
    calibrated = store.speed(CPU, "Q4_K")
    assert calibrated is not None
    assert seconds_of(LARGE_WORK, calibrated) == pytest.approx(calm, rel=0.01)


def test_two_processes_add_to_one_file(tmp_path: Path) -> None:
    window, terminal = CalibrationStore(tmp_path / "c.json"), CalibrationStore(tmp_path / "c.json")
    window.add(SILENT, "Q4_0", work(1e9), 0.1)
    terminal.add(SILENT, "Q8_0", work(1e9), 0.2)
    for store in (window, terminal):
        assert store.speed(SILENT, "Q4_0") == DecodeSpeed(10e9)
        assert store.speed(SILENT, "Q8_0") == DecodeSpeed(5e9)
