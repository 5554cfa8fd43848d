"""Does it fit, and what would: plans of a model of 8 billion parameters on machines of all kinds."""

from __future__ import annotations

import dataclasses

from engine.memory.memory_plan import MemoryPlan, Verdict, Wishes
from engine.memory.planner import may_load, plan
from engine.models.model_facts import ModelKind
from engine.protocol import KVType
from tests.engine.memory.planned_models import (
    GIB,
    LAYER_BYTES,
    TABLE_BYTES,
    machine,
    model_8b,
)


def in_gib(planned: MemoryPlan) -> str:
    """All that it needs, as a sentence says it."""
    return f"{planned.total_bytes / GIB:.1f}"


def test_model_with_room_in_ram_fits_and_says_so() -> None:
    planned = plan(model_8b(), machine(), Wishes(n_ctx=8192))
    assert planned.verdict is Verdict.FITS
    assert (planned.n_ctx, planned.n_gpu_layers, planned.n_ctx_fitting) == (8192, 0, 131_072)
    assert planned.weights_bytes == 32 * LAYER_BYTES + 2 * TABLE_BYTES
    assert planned.kv_bytes == GIB
    assert planned.available_bytes == 24 * GIB
    assert planned.total_bytes == sum(
        (planned.weights_bytes, planned.kv_bytes, planned.compute_bytes, planned.engine_bytes)
    )
    assert planned.reasons == (f"Fits: {in_gib(planned)} of 24.0 GiB of free RAM.",)
    assert may_load(planned) is None


def test_model_without_room_is_refused_with_what_is_missing() -> None:
    planned = plan(model_8b(), machine(ram_gib=8, available_gib=3), Wishes())
    assert planned.verdict is Verdict.DOES_NOT_FIT
    assert planned.n_ctx_fitting == 0
    assert planned.reasons == (
        f"Does not fit: it needs {in_gib(planned)} GiB in RAM, where 3.0 GiB are free.",
        "Its weights alone take 4.0 GiB: choose a smaller quantization of it, or a smaller model.",
    )
    refusal = may_load(planned)
    assert refusal is not None
    assert refusal.message == " ".join(planned.reasons)
    assert not refusal.can_insist, "the machine would swap"


def test_swap_is_never_counted_on() -> None:
    little = dataclasses.replace(machine(ram_gib=8, available_gib=3), swap_total=64 * GIB)
    assert plan(model_8b(), little, Wishes()).verdict is Verdict.DOES_NOT_FIT


def test_some_ram_stays_for_the_system_though_all_would_just_fit() -> None:
    needed = plan(model_8b(), machine(), Wishes()).total_bytes / GIB
    planned = plan(model_8b(), machine(ram_gib=8, available_gib=needed + 0.15), Wishes())
    assert planned.verdict is Verdict.DOES_NOT_FIT
    assert "and 256 MiB must stay free for the system" in planned.reasons[0]
    roomier = plan(model_8b(), machine(ram_gib=8, available_gib=needed + 0.5), Wishes())
    assert roomier.verdict is Verdict.TIGHT
    assert roomier.fits
    assert roomier.reasons[0].startswith(f"Fits tightly: {needed:.1f} of {needed + 0.5:.1f} GiB of free RAM.")


def test_longest_context_that_fits_is_found() -> None:
    small = machine(ram_gib=16, available_gib=10)
    longest = plan(model_8b(), small, Wishes(n_ctx=131_072)).n_ctx_fitting
    assert longest % 256 == 0
    assert plan(model_8b(), small, Wishes(n_ctx=longest)).fits
    assert not plan(model_8b(), small, Wishes(n_ctx=longest + 256)).fits


def test_smaller_cache_and_smaller_context_are_offered() -> None:
    planned = plan(model_8b(), machine(ram_gib=16, available_gib=10), Wishes(n_ctx=49_152))
    assert planned.verdict is Verdict.DOES_NOT_FIT
    assert planned.reasons[1:] == (
        "With q8_0 for the KV cache 49,152 tokens would fit.",
        f"With a context of {planned.n_ctx_fitting:,} tokens it would fit.",
    )
    assert plan(model_8b(), machine(ram_gib=16, available_gib=10), Wishes(49_152, KVType.Q8_0)).fits


def test_other_programs_are_named_where_closing_them_would_help() -> None:
    crowded = machine(ram_gib=16, available_gib=3, others_gib=12)
    reasons = plan(model_8b(), crowded, Wishes()).reasons
    assert "Other programs hold 12.0 GiB in RAM: closing some would help." in reasons


def test_what_unloading_frees_is_there_for_the_new_model() -> None:
    full = machine(ram_gib=16, available_gib=3)
    assert not plan(model_8b(), full, Wishes()).fits
    planned = plan(model_8b(), full, Wishes(), freed_bytes={"CPU": 5 * GIB})
    assert planned.fits
    assert (planned.freed_bytes, planned.available_bytes) == (5 * GIB, 8 * GIB)
    assert "5.0 GiB of what is free will be freed by unloading the present model." in planned.reasons


# --- what no memory helps against ---


def test_context_beyond_the_trained_one_is_refused() -> None:
    planned = plan(model_8b(n_ctx_train=8192), machine(), Wishes(n_ctx=16_384))
    assert planned.verdict is Verdict.DOES_NOT_FIT
    assert planned.n_ctx_fitting == 8192
    assert planned.reasons[0] == (
        "A context of 16,384 tokens is not possible: the model was trained for 8,192."
    )
    assert not planned.can_insist


def test_claimed_context_of_billions_is_planned_with_at_most_8192() -> None:
    planned = plan(model_8b(n_ctx_train=2**31 - 1), machine(), Wishes())
    assert (planned.n_ctx, planned.fits) == (8192, True)
    assert 8192 < planned.n_ctx_fitting < 1_000_000
    asked = plan(model_8b(n_ctx_train=2**31 - 1), machine(), Wishes(n_ctx=2**31 - 1))
    assert asked.verdict is Verdict.DOES_NOT_FIT
    assert may_load(asked) is not None


def test_cache_type_that_does_not_fit_the_heads_is_refused() -> None:
    planned = plan(model_8b(head=80), machine(), Wishes(kv_type=KVType.Q8_0))
    assert planned.verdict is Verdict.DOES_NOT_FIT
    assert "cannot be stored as q8_0" in planned.reasons[0]


def test_file_that_cannot_chat_is_refused_with_its_reason() -> None:
    facts = model_8b(kind=ModelKind.PROJECTOR, reason="A model is a projector.")
    planned = plan(facts, machine(), Wishes())
    assert (planned.verdict, planned.reasons) == (Verdict.CANNOT_CHAT, ("A model is a projector.",))
    refusal = may_load(planned)
    assert refusal is not None
    assert not refusal.can_insist
