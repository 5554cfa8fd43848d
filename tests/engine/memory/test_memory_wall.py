from __future__ import annotations

import pytest

from engine.memory import memory_wall
from engine.memory.memory_wall import DecodeSpeed
from engine.models.model_facts import ModelFacts, ModelKind

RTX_4090 = 1008e9  # bytes a second
TFLOPS_4090 = 82.6e12


def model(active_bytes: float, n_active_params: int = 8_000_000_000) -> ModelFacts:
    return ModelFacts(
        name="A model",
        architecture="llama",
        kind=ModelKind.CHAT,
        n_params=n_active_params,
        n_active_params=n_active_params,
        weights_bytes=int(active_bytes),
        active_bytes=int(active_bytes),
        tensor_bytes={},
        quantization="F16",
        n_layers=32,
        n_heads=32,
        n_embd=4096,
        n_vocab=128_256,
        n_ctx_train=8192,
        layers=(),
        sliding_window=None,
        rope_scaling=None,
        n_experts=None,
        n_experts_used=None,
        kv_lora_rank=None,
        tokenizer="gpt2",
        has_chat_template=True,
        license=None,
        can_shift=True,
        reason=None,
    )


@pytest.mark.parametrize(
    ("weights", "bandwidth", "milliseconds", "tps"),
    [(16e9, RTX_4090, 15.87, 63), (4.5e9, RTX_4090, 4.46, 224), (140e9, 2e12, 70, 14)],
)
def test_published_figures_of_the_memory_wall(
    weights: float, bandwidth: float, milliseconds: float, tps: int
) -> None:
    seconds = memory_wall.seconds_per_token(weights, DecodeSpeed(bandwidth))
    assert 1000 * seconds == pytest.approx(milliseconds, abs=0.005)
    assert round(memory_wall.predicted_tps(model(weights), 131_072, 0, bandwidth)) == tps


def test_the_published_share_of_compute_in_use() -> None:
    tps = memory_wall.predicted_tps(model(16e9), 0, 0, RTX_4090)
    assert memory_wall.compute_share(8_000_000_000, tps, TFLOPS_4090) == pytest.approx(0.0122, abs=0.00005)
    assert memory_wall.arithmetic_intensity(8_000_000_000, 16e9) == 1


def test_the_cache_is_read_with_each_token() -> None:
    empty, deep = (memory_wall.predicted_tps(model(4e9), 131_072, depth, 1e12) for depth in (0, 32_768))
    assert empty == pytest.approx(250)
    assert deep == pytest.approx(1 / (4e-3 + 131_072 * 32_768 / 1e12))


def test_efficiency_and_overhead_slow_it_down() -> None:
    tps = memory_wall.predicted_tps(model(4e9), 0, 0, 1e12, 0.5, overhead=2e-3)
    assert tps == pytest.approx(100)  # 8 ms for the bytes, 2 ms beside


def test_devices_wait_for_each_other() -> None:
    reads = [(4e9, DecodeSpeed(1e12, 1e-3)), (1e9, DecodeSpeed(50e9))]
    assert memory_wall.split_seconds_per_token(reads) == pytest.approx(0.025)


def test_a_curve_falls_with_the_cache_and_stays_where_it_stays() -> None:
    window = 1024
    points = memory_wall.curve(
        1e9, lambda depth: 100_000 * min(depth, window), (0, 1024, 8192), DecodeSpeed(100e9)
    )
    assert [point.depth for point in points] == [0, 1024, 8192]
    assert points[0].tps == pytest.approx(100)
    assert points[1].tps == points[2].tps == pytest.approx(1 / (0.01 + 100_000 * 1024 / 100e9))


def test_what_other_kv_types_and_weights_would_buy() -> None:
    roofline = DecodeSpeed(1e12)
    weights, cache = 4e9, 4e9
    assert memory_wall.speed_up(weights + cache, weights + cache * 34 / 64, roofline) == pytest.approx(
        1.306, abs=1e-3
    )
    assert memory_wall.quantized_bytes(8_000_000_000, 4.5) == 4.5e9
    assert memory_wall.speed_up(16e9, 4.5e9, roofline) == pytest.approx(16 / 4.5)
    # Where the overhead rules, smaller weights buy nearly nothing.
    assert memory_wall.speed_up(96e6, 48e6, DecodeSpeed(1e12, 1e-3)) < 1.05


def test_effective_bandwidth_is_what_was_read() -> None:
    assert memory_wall.effective_bandwidth(1 / 3.35e-3, 4.04e9, 131_072 * 7000) == pytest.approx(
        1.48e12, rel=0.01
    )


def test_prefill_is_bound_by_memory_in_small_batches_and_by_computing_in_large_ones() -> None:
    def tps(n_batch: int) -> float:
        return memory_wall.prefill_tps(8_000_000_000, 16e9, n_batch, RTX_4090, TFLOPS_4090)

    assert tps(1) == pytest.approx(63, abs=0.01)
    assert tps(32) == pytest.approx(32 * 63)
    assert tps(512) == tps(4096) == pytest.approx(82.6e12 / 16e9)
    assert memory_wall.effective_operations(8_000_000_000, tps(512)) == pytest.approx(TFLOPS_4090)
    assert tps(82) == pytest.approx(tps(4096)) and tps(81) < tps(82)


def test_streaming_keeps_its_memory_whatever_the_length() -> None:
    sizes = [memory_wall.streaming_kv_bytes(n, 4, 1020, 23_040) for n in (100, 1024, 10_000, 4_000_000)]
    assert sizes == [2_304_000, 23_592_960, 23_592_960, 23_592_960]
