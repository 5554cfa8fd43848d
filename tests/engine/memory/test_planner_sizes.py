"""What a plan says of speed, and what it takes from a dry run."""

from __future__ import annotations

import time
from typing import Any

import pytest

from engine.memory import layout_plan
from engine.memory.kv_math import KvSizes, kv_sizes
from engine.memory.load_options import CPU_MICRO_BATCH
from engine.memory.memory_plan import DevicePlan, ExactSizes, LoadShape, MemoryPlan, Wishes
from engine.memory.planner import plan
from engine.models.model_facts import ModelFacts
from engine.protocol import DEFAULT_SEQUENCES, EffectiveOptions, FlashAttention, KVType
from tests.engine.memory.planned_models import (
    GIB,
    MIB,
    card,
    machine,
    model_8b,
)


def on(planned: MemoryPlan, name: str) -> DevicePlan:
    return next(device for device in planned.devices if device.device == name)


# --- speed ---


def test_speed_is_that_of_the_memories_which_hold_the_layers() -> None:
    fast, slow = 400e9, 40e9
    facts = model_8b()
    on_card = plan(facts, machine(card(8, 7.5, bandwidth=fast), bandwidth=slow), Wishes())
    in_ram = plan(facts, machine(bandwidth=slow), Wishes())
    split = plan(facts, machine(card(4, 3.5, bandwidth=fast), bandwidth=slow), Wishes())
    assert on_card.limit_tps == pytest.approx(fast / facts.active_bytes)
    assert in_ram.limit_tps == pytest.approx(slow / facts.active_bytes)
    read = on(split, "CUDA0").weights
    assert split.limit_tps == pytest.approx(1 / (read / fast + (facts.active_bytes - read) / slow))
    for planned in (on_card, in_ram, split):
        assert planned.predicted_tps is not None
        assert planned.limit_tps is not None
        assert 0 < planned.predicted_tps < planned.limit_tps


def test_speed_is_not_invented() -> None:
    planned = plan(model_8b(), machine(card(8, 7.5), bandwidth=40e9), Wishes())
    assert (planned.predicted_tps, planned.limit_tps) == (None, None)


# --- exact sizes ---

OPTIONS = EffectiveOptions(devices=(), n_ubatch=CPU_MICRO_BATCH, flash_attention=FlashAttention.OFF)
SHAPE = LoadShape(8192, 0, DEFAULT_SEQUENCES, OPTIONS)


def exact(shape: LoadShape, compute: int, kv_bytes: int = GIB) -> ExactSizes:
    return ExactSizes(shape, ("CPU",) * 33, kv_bytes, {"CPU": compute})


def test_sizes_of_a_dry_run_are_taken() -> None:
    planned = plan(model_8b(), machine(), Wishes(), exact=exact(SHAPE, 200 * MIB))
    assert planned.is_exact
    assert planned.compute_bytes == 200 * MIB


def test_sizes_of_another_shape_are_corrected_by_them() -> None:
    facts, wishes = model_8b(), Wishes(n_ctx=16_384)
    found = exact(SHAPE, 200 * MIB)
    planned = plan(facts, machine(), wishes, exact=found)
    grown = plan(facts, machine(), wishes).compute_bytes - plan(facts, machine(), Wishes()).compute_bytes
    assert not planned.is_exact
    assert planned.compute_bytes == 200 * MIB + grown


@pytest.mark.parametrize("devices", [("CPU",) * 20, ("CUDA9",) * 33])
def test_sizes_of_another_model_or_machine_are_not_taken(devices: tuple[str, ...]) -> None:
    found = ExactSizes(SHAPE, devices, GIB, {"CPU": 200 * MIB})
    assert plan(model_8b(), machine(), Wishes(), exact=found) == plan(model_8b(), machine(), Wishes())


def test_cache_that_cannot_be_counted_is_corrected_too() -> None:
    facts = model_8b(is_cache_exact=False)
    assert any(
        "takes more than can be counted" in reason for reason in plan(facts, machine(), Wishes()).reasons
    )
    found = exact(SHAPE, 200 * MIB, kv_bytes=3 * GIB // 2)
    planned = plan(facts, machine(), Wishes(n_ctx=16_384), exact=found)
    assert planned.kv_bytes == 3 * GIB
    assert not any("can be counted" in reason for reason in planned.reasons)


def test_each_cache_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[int, KVType]] = []

    def count(facts: ModelFacts, n_ctx: int, kv_type: KVType, *more: Any, **options: Any) -> KvSizes:
        counted.append((n_ctx, kv_type))
        return kv_sizes(facts, n_ctx, kv_type, *more, **options)

    monkeypatch.setattr(layout_plan, "kv_sizes", count)
    plan(model_8b(), machine(card(8, 3)), Wishes(n_ctx=65_536))
    assert len(counted) > 5
    assert len(counted) == len(set(counted))


def test_a_plan_is_quick_enough_for_a_slider() -> None:
    two = machine(card(8, 3, name="CUDA0"), card(8, 6, name="CUDA1"))
    started = time.perf_counter()
    plan(model_8b(), two, Wishes(n_ctx=65_536))
    assert time.perf_counter() - started < 0.25
