"""Where layers go on machines with cards of all kinds, and whether they have room there."""

from __future__ import annotations

from typing import Any

import pytest

from engine.memory.load_options import CPU_MICRO_BATCH
from engine.memory.memory_plan import DevicePlan, ExactSizes, LoadShape, MemoryPlan, Verdict, Wishes
from engine.memory.planner import may_load, plan
from engine.protocol import FlashAttention, KVType, LoadOptions, Split
from tests.engine.memory.planned_models import (
    GIB,
    LAYER_BYTES,
    N_LAYERS,
    TABLE_BYTES,
    card,
    machine,
    model_8b,
)


def on(planned: MemoryPlan, name: str) -> DevicePlan:
    return next(device for device in planned.devices if device.device == name)


def test_model_goes_to_a_card_with_room_but_for_its_embeddings() -> None:
    planned = plan(model_8b(), machine(card(8, 7.5)), Wishes())
    assert (planned.verdict, planned.n_gpu_layers) == (Verdict.FITS, N_LAYERS + 1)
    on_card, in_ram = on(planned, "CUDA0"), on(planned, "CPU")
    assert (on_card.weights, in_ram.weights) == (N_LAYERS * LAYER_BYTES + TABLE_BYTES, TABLE_BYTES)
    assert (on_card.kv, in_ram.kv) == (GIB, 0)
    assert (on_card.engine, in_ram.engine > 0) == (0, True)
    assert planned.available_bytes == int(31.5 * GIB)


def test_tied_embeddings_lie_on_the_card_and_in_ram() -> None:
    facts = model_8b(is_tied=True)
    planned = plan(facts, machine(card(8, 7.5)), Wishes())
    assert on(planned, "CUDA0").weights == N_LAYERS * LAYER_BYTES + TABLE_BYTES
    assert on(planned, "CPU").weights == TABLE_BYTES
    assert plan(facts, machine(), Wishes()).weights_bytes == facts.weights_bytes


def test_card_with_too_little_memory_takes_some_layers() -> None:
    planned = plan(model_8b(), machine(card(4, 3.5)), Wishes())
    assert planned.verdict is Verdict.FITS_PARTLY
    count = planned.n_gpu_layers
    assert 0 < count <= N_LAYERS
    # The last layers and the output go to the card, their part of the cache with them.
    assert on(planned, "CUDA0").weights == (count - 1) * LAYER_BYTES + TABLE_BYTES
    assert on(planned, "CUDA0").kv == (count - 1) * GIB // N_LAYERS
    assert on(planned, "CUDA0").needed < 3.5 * GIB
    assert planned.reasons[0].startswith(f"Fits with {count} of 33 layers on the GPU: ")


def test_more_layers_than_have_room_are_refused_and_the_number_that_has_is_told() -> None:
    small = machine(card(4, 3.5))
    planned = plan(model_8b(), small, Wishes(n_gpu_layers=33))
    assert planned.verdict is Verdict.DOES_NOT_FIT
    count = plan(model_8b(), small, Wishes()).n_gpu_layers
    assert f"With {count} of 33 layers on the GPU it would fit." in planned.reasons
    refusal = may_load(planned)
    assert refusal is not None
    assert refusal.can_insist, "RAM has room: the load could fail, but nothing would swap"


def test_memory_of_other_programs_on_the_card_counts() -> None:
    busy = machine(card(8, 0.3, others_gib=7.5))
    planned = plan(model_8b(), busy, Wishes())
    assert (planned.verdict, planned.n_gpu_layers) == (Verdict.FITS_PARTLY, 0)
    assert [device.device for device in planned.devices] == ["CPU"]
    assert planned.reasons[0].startswith("Fits in RAM alone, since no layer has room on the GPU: ")
    forced = plan(model_8b(), busy, Wishes(n_gpu_layers=33))
    assert "Other programs hold 7.5 GiB on CUDA0: closing some would help." in forced.reasons


def test_no_layers_are_wished_and_none_go_to_the_card() -> None:
    planned = plan(model_8b(), machine(card(24, 23)), Wishes(n_gpu_layers=0))
    assert (planned.verdict, [device.device for device in planned.devices]) == (Verdict.FITS, ["CPU"])


def test_two_cards_share_the_layers_as_their_free_memory() -> None:
    two = machine(card(8, 3, name="CUDA0"), card(8, 6, name="CUDA1"))
    planned = plan(model_8b(), two, Wishes(n_gpu_layers=33))
    first, second = on(planned, "CUDA0"), on(planned, "CUDA1")
    assert first.weights == 11 * LAYER_BYTES
    assert second.weights == 21 * LAYER_BYTES + TABLE_BYTES
    assert first.kv + second.kv == planned.kv_bytes == GIB
    assert planned.available_bytes == (24 + 3 + 6) * GIB


def test_unified_memory_is_counted_once() -> None:
    apple = machine(card(12, 10, name="Metal", shares_ram=True), ram_gib=16, available_gib=10)
    planned = plan(model_8b(), apple, Wishes())
    assert (planned.verdict, planned.n_gpu_layers) == (Verdict.FITS, 33)
    assert planned.available_bytes == 10 * GIB
    assert planned.reasons == ("Fits: 5.2 of 10.0 GiB of free RAM.",)
    smaller = machine(card(12, 10, name="Metal", shares_ram=True), ram_gib=16, available_gib=5)
    refused = plan(model_8b(), smaller, Wishes(n_gpu_layers=33))
    assert refused.verdict is Verdict.DOES_NOT_FIT
    assert not refused.can_insist, "the card's memory is RAM"


def test_freed_unified_memory_is_freed_ram() -> None:
    apple = machine(card(12, 3, name="Metal", shares_ram=True), ram_gib=16, available_gib=3)
    assert not plan(model_8b(), apple, Wishes()).fits
    assert plan(model_8b(), apple, Wishes(), freed_bytes={"Metal": 6 * GIB}).fits


def test_graphics_unit_of_the_processor_is_left_out_beside_a_card() -> None:
    both = machine(card(16, 12, name="Vulkan0", kind="igpu", shares_ram=True), card(8, 7.5, name="CUDA0"))
    planned = plan(model_8b(), both, Wishes())
    assert [device.device for device in planned.devices] == ["CUDA0", "CPU"]


@pytest.mark.parametrize("total", [8, None])
def test_card_that_does_not_tell_its_free_memory_may_fit(total: float | None) -> None:
    planned = plan(model_8b(), machine(card(total, None)), Wishes())
    assert (planned.verdict, planned.n_gpu_layers) == (Verdict.TIGHT, 33)
    assert planned.fits
    assert planned.available_bytes == 24 * GIB
    assert "How much is free on CUDA0 is not known." in planned.reasons[0]


def test_main_device_alone_takes_layers() -> None:
    two = machine(card(8, 7.5), card(8, 7.5, name="CUDA1"))
    planned = plan(model_8b(), two, Wishes(options=LoadOptions(main_device="CUDA1")))
    assert (planned.verdict, planned.n_gpu_layers) == (Verdict.FITS, N_LAYERS + 1)
    assert [device.device for device in planned.devices] == ["CUDA1", "CPU"]
    first = plan(model_8b(), two, Wishes(options=LoadOptions(split=Split.NONE)))
    assert [device.device for device in first.devices] == ["CUDA0", "CPU"]


def test_sizes_of_other_cards_are_not_taken() -> None:
    two = machine(card(8, 7.5), card(8, 7.5, name="CUDA1"))
    layers = ("CUDA0",) * 16 + ("CUDA1",) * 17
    found = ExactSizes(LoadShape(8192, N_LAYERS + 1, 4), layers, GIB, {"CUDA0": GIB, "CUDA1": GIB})
    wishes = Wishes(options=LoadOptions(main_device="CUDA1"))
    assert plan(model_8b(), two, wishes, exact=found) == plan(model_8b(), two, wishes)
    assert plan(model_8b(), two, Wishes(), exact=found) != plan(model_8b(), two, Wishes())


def test_smaller_batch_and_types_need_less() -> None:
    def needed(**options: Any) -> int:
        return plan(model_8b(), machine(), Wishes(options=LoadOptions(**options))).total_bytes

    assert needed(n_ubatch=CPU_MICRO_BATCH // 2) < needed() < needed(n_ubatch=2048)
    assert needed(n_ubatch=CPU_MICRO_BATCH) == needed()
    assert needed(v_type=KVType.Q8_0) < needed(flash_attention=FlashAttention.ON) < needed()


def test_what_becomes_of_the_options_is_a_reason() -> None:
    wishes = Wishes(kv_type=KVType.Q8_0, options=LoadOptions(flash_attention=FlashAttention.OFF))
    planned = plan(model_8b(), machine(), wishes)
    assert planned.kv_bytes == 8192 * N_LAYERS * 1024 * (34 + 64) // 32
    assert "stored as f16" in planned.reasons[-1]
