"""What a plan says of contexts that no model has, of those that are rounded up, and of what is left free."""

from __future__ import annotations

import dataclasses

import pytest

from engine.memory.memory_plan import (
    PROCESS_BYTES,
    MemoryPlan,
    Verdict,
    Wishes,
    said_n_ctx_train,
    trained_n_ctx,
)
from engine.memory.planner import plan
from engine.models.rearranged_facts import RearrangedFacts
from engine.protocol import LoadOptions
from tests.engine.memory.planned_models import GIB, MIB, card, machine, model_8b

NOT_SAID = "The file does not say for how many tokens the model was trained: 4,096 are taken."


@pytest.mark.parametrize("in_file", [None, 0, -5, 2**31, 4_294_967_291])
def test_context_that_no_model_can_have_is_taken_for_unknown(in_file: int | None) -> None:
    assert said_n_ctx_train(in_file) is None
    assert trained_n_ctx(in_file) == 4096
    facts = dataclasses.replace(model_8b(), n_ctx_train=in_file)
    planned = plan(facts, machine(), Wishes())
    assert (planned.n_ctx, planned.n_ctx_fitting, planned.n_ctx_train) == (4096, 4096, 4096)
    assert planned.reasons[-1] == NOT_SAID
    asked = plan(facts, machine(), Wishes(n_ctx=8192))
    assert asked.verdict is Verdict.DOES_NOT_FIT
    assert asked.reasons[0] == (
        "A context of 8,192 tokens is not possible: 4,096 are taken, since the file does not say for how "
        "many the model was trained."
    )
    assert NOT_SAID not in asked.reasons


def test_context_that_is_said_is_not_talked_about() -> None:
    assert (said_n_ctx_train(2**31 - 1), trained_n_ctx(8192)) == (2**31 - 1, 8192)
    assert len(plan(model_8b(), machine(), Wishes()).reasons) == 1


@pytest.mark.parametrize(("asked", "made"), [(1, 256), (255, 256), (300, 512)])
def test_context_is_made_in_steps_and_told(asked: int, made: int) -> None:
    planned = plan(model_8b(), machine(), Wishes(n_ctx=asked))
    assert (planned.n_ctx, planned.n_cells) == (asked, made)
    assert planned.kv_bytes == made * 128 * 1024
    assert planned.reasons[-1] == (
        f"A context is made in steps of 256 tokens: it has {made} instead of {asked}."
    )


def test_whole_trained_context_is_possible_though_it_is_no_step() -> None:
    planned = plan(model_8b(n_ctx_train=1000), machine(), Wishes(n_ctx=1000))
    assert (planned.fits, planned.is_context_possible, planned.n_cells) == (True, True, 1024)


def test_what_an_impossible_context_would_need_is_no_reason() -> None:
    planned = plan(model_8b(n_ctx_train=8192), machine(), Wishes(n_ctx=9_999_999_999_999))
    assert not planned.is_context_possible
    assert planned.reasons == (
        "A context of 9,999,999,999,999 tokens is not possible: the model was trained for 8,192.",
        "With a context of 8,192 tokens it would fit.",
    )


# --- what is left to the system ---


def smallest() -> MemoryPlan:
    return plan(model_8b(), machine(), Wishes(n_ctx=256))


def test_what_is_left_to_the_system_is_named_where_it_alone_is_in_the_way() -> None:
    free = smallest().total_bytes + PROCESS_BYTES + 100 * MIB
    planned = plan(model_8b(), machine(ram_gib=8, available_gib=free / GIB), Wishes())
    assert planned.n_ctx_fitting == 0
    assert planned.reasons[0].endswith("GiB are free, and 256 MiB must stay free for the system.")
    assert planned.reasons[1] == (
        "With what must stay free a short context would fit: close other programs, or choose a smaller model."
    )
    assert not any("Its weights alone" in reason for reason in planned.reasons)


def test_weights_that_are_too_large_are_named_where_they_are_in_the_way() -> None:
    free = smallest().total_bytes + PROCESS_BYTES - 100 * MIB
    planned = plan(model_8b(), machine(ram_gib=8, available_gib=free / GIB), Wishes())
    assert "must stay free" not in planned.reasons[0]
    assert planned.reasons[1].startswith("Its weights alone take")


# --- weights that are rearranged for the processor ---

REARRANGED = RearrangedFacts(matrices=3 * GIB, copies=200 * MIB, mapped=4 * GIB)


def test_pages_that_are_not_read_again_are_told_and_not_needed() -> None:
    facts = dataclasses.replace(model_8b(), rearranged=REARRANGED)
    mapped = plan(facts, machine(), Wishes(options=LoadOptions(mmap=True)))
    read = plan(facts, machine(), Wishes(options=LoadOptions(mmap=False)))
    assert mapped.weights_bytes == read.weights_bytes == facts.weights_bytes + 200 * MIB
    assert mapped.file_cache_bytes == 7 * GIB - facts.weights_bytes - 200 * MIB
    assert read.file_cache_bytes == 0
    assert mapped.total_bytes == read.total_bytes


def test_nothing_is_rearranged_where_a_card_takes_part() -> None:
    facts = dataclasses.replace(model_8b(), rearranged=REARRANGED)
    planned = plan(facts, machine(card(8, 3.5)), Wishes(options=LoadOptions(mmap=True)))
    assert planned.weights_bytes == facts.weights_bytes
    assert planned.file_cache_bytes == 0
