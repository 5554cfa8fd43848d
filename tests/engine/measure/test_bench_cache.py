"""The cost of an eviction is told only where it stands out of the noise."""

from __future__ import annotations

import pytest

from engine.measure.bench_cache import above_noise


def test_the_cost_is_the_difference_of_the_medians() -> None:
    assert above_noise([5.0, 5.1, 90.0], [2.0, 2.1, 2.0]) == pytest.approx(3.1)


@pytest.mark.parametrize("longer", [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [2.0, 2.4, 2.8]])
def test_what_is_lost_in_the_noise_is_not_told(longer: list[float]) -> None:
    assert above_noise(longer, [1.0, 2.0, 3.0]) is None
