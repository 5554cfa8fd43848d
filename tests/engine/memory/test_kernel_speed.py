from __future__ import annotations

from dataclasses import asdict

import pytest

from engine.memory.kernel_speed import KernelSpeed, parse_kernels
from engine.processor_speed import measure_kernels

KERNELS = KernelSpeed(
    {"Q4_K": 10e9, "Q8_0": 16e9}, {"f16/64/4/flash": 50e-9, "f16/128/4/flash": 60e-9, "f16/64/4": 20e-9}, 4e-6
)


def test_what_was_not_measured_is_taken_for_its_like() -> None:
    assert KERNELS.weights_rate("Q8_0") == 16e9
    assert KERNELS.weights_rate("IQ1_M") == 10e9
    assert KernelSpeed().weights_rate("Q8_0") is None
    assert KERNELS.seconds_per_head_cell("f16", 80) == pytest.approx(50e-9 * 80 / 64)
    assert KERNELS.seconds_per_head_cell("f16", 32) == 50e-9
    assert KERNELS.seconds_per_head_cell("q8_0", 64) == 50e-9  # K alone may be quantized
    assert KernelSpeed({"Q4_K": 10e9}).seconds_per_head_cell("f16", 64) == 0


def test_attention_with_and_without_the_one_pass_kernel_are_told_apart() -> None:
    assert KERNELS.seconds_per_head_cell("f16", 64, flash_attention=True) == 50e-9
    assert KERNELS.seconds_per_head_cell("f16", 64, flash_attention=False) == 20e-9


def test_query_heads_that_share_cells_read_them_once() -> None:
    # 12 ns of computing for each query head, and 20 ns of reading for each cell.
    kernels = KernelSpeed({"Q4_K": 10e9}, {"f16/64/1": 32e-9, "f16/64/4": 17e-9})
    for sharing, seconds in ((1, 32e-9), (2, 22e-9), (4, 17e-9), (8, 14.5e-9)):
        found = kernels.seconds_per_head_cell("f16", 64, sharing, flash_attention=False)
        assert found == pytest.approx(seconds)


def test_what_an_older_version_stored_is_measured_again() -> None:
    stored = asdict(KERNELS)
    assert parse_kernels(stored) == KERNELS
    for form in (1, None):
        assert parse_kernels({**stored, "form": form}) is None


@pytest.mark.parametrize("stored", [None, [], {}, {"weights": {"Q4_K": "fast"}, "attention": {"f16/64": 1}}])
def test_what_is_no_measurement_is_none(stored: object) -> None:
    assert parse_kernels(stored) is None


def test_llama_cpps_own_kernels_are_timed() -> None:
    found = measure_kernels(1)
    assert found is not None
    assert all(1e7 < rate < 1e12 for rate in found.weights.values())
    assert all(1e-10 < seconds < 1e-4 for seconds in found.attention.values())
    assert 0 < found.kernel < found.product < 1e-2
    assert len(found.attention) == 24
