from __future__ import annotations

import pytest

from engine.memory.kernel_speed import KernelSpeed, parse_kernels
from engine.processor_speed import measure_kernels

KERNELS = KernelSpeed({"Q4_K": 10e9, "Q8_0": 16e9}, {"f16/64": 50e-9, "f16/128": 60e-9}, 4e-6)


def test_what_was_not_measured_is_taken_for_its_like() -> None:
    assert KERNELS.weights_rate("Q8_0") == 16e9
    assert KERNELS.weights_rate("IQ1_M") == 10e9
    assert KernelSpeed().weights_rate("Q8_0") is None
    assert KERNELS.seconds_per_head_cell("f16", 80) == pytest.approx(50e-9 * 80 / 64)
    assert KERNELS.seconds_per_head_cell("f16", 32) == 50e-9
    assert KERNELS.seconds_per_head_cell("q8_0", 64) == 0


@pytest.mark.parametrize("stored", [None, [], {}, {"weights": {"Q4_K": "fast"}, "attention": {"f16/64": 1}}])
def test_what_is_no_measurement_is_none(stored: object) -> None:
    assert parse_kernels(stored) is None


def test_llama_cpps_own_kernels_are_timed() -> None:
    found = measure_kernels(1)
    assert found is not None
    assert all(1e7 < rate < 1e12 for rate in found.weights.values())
    assert all(1e-10 < seconds < 1e-4 for seconds in found.attention.values())
    assert 0 < found.kernel < 1e-2
    assert len(found.attention) == 9
