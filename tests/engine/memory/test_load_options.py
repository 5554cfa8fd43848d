"""Options that do not go together are replaced, and told; all others are used as they were wished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from engine.errors import BadRequest
from engine.memory.load_options import (
    CPU_MICRO_BATCH,
    DEFAULT_BATCH,
    Settled,
    most_exact_batch,
    n_sequences,
    settle,
)
from engine.memory.memory_plan import Wishes
from engine.models.model_facts import LayerFacts, LayerKind, ModelFacts
from engine.protocol import (
    DEFAULT_SEQUENCES,
    DeviceMemory,
    EffectiveOptions,
    FlashAttention,
    KVType,
    LoadOptions,
    Split,
)
from tests.engine.memory.planned_models import card, machine, model_8b

CPU = DeviceMemory("CPU", "", "cpu", None, None)
CUDA0, CUDA1, SYCL0 = (DeviceMemory(name, "", "gpu", 1, 1) for name in ("CUDA0", "CUDA1", "SYCL0"))
LATENT = replace(model_8b(), layers=(LayerFacts(LayerKind.FULL, 1, 576, 0),))
REARRANGED = replace(model_8b(), tensor_bytes={"Q4_K": 3 * 2**30, "Q6_K": 2**30})


def settled(
    devices: Sequence[DeviceMemory] | None = (CPU,),
    facts: ModelFacts | None = None,
    kv_type: KVType = KVType.F16,
    n_ctx: int | None = 8192,
    n_gpu_layers: int = -1,
    **options: Any,
) -> Settled:
    return settle(Wishes(n_ctx, kv_type, n_gpu_layers, options=LoadOptions(**options)), devices, facts)


def told(found: Settled) -> list[str]:
    return [notice.option for notice in found.notices]


def test_without_wishes_all_is_as_it_always_was() -> None:
    on_processor = EffectiveOptions(devices=(), n_ubatch=CPU_MICRO_BATCH, flash_attention=FlashAttention.OFF)
    assert settled() == Settled(on_processor)
    assert settled((CPU, CUDA0, CUDA1), model_8b()) == Settled(EffectiveOptions())


# --- types ---


def test_quantized_values_without_flash_attention_become_f16_and_are_told() -> None:
    found = settled(kv_type=KVType.Q8_0, flash_attention=FlashAttention.OFF)
    assert (found.options.k_type, found.options.v_type) == (KVType.Q8_0, KVType.F16)
    assert found.sentences == (
        "V can be quantized only with flash attention, which is off: it is stored as f16.",
    )


@pytest.mark.parametrize("flash_attention", [FlashAttention.AUTO, FlashAttention.ON])
def test_values_have_a_type_of_their_own(flash_attention: FlashAttention) -> None:
    found = settled(kv_type=KVType.Q8_0, v_type=KVType.Q4_0, flash_attention=flash_attention)
    assert (found.options.k_type, found.options.v_type) == (KVType.Q8_0, KVType.Q4_0)
    assert found.options.flash_attention is flash_attention
    assert not found.notices


def test_plain_values_need_no_flash_attention() -> None:
    found = settled(kv_type=KVType.Q8_0, v_type=KVType.F16, flash_attention=FlashAttention.OFF)
    assert found.options.k_type is KVType.Q8_0
    assert not found.notices


def test_latent_attention_has_one_type_for_both() -> None:
    found = settled(facts=LATENT, kv_type=KVType.Q8_0, v_type=KVType.F16)
    assert (found.options.v_type, told(found)) == (KVType.Q8_0, ["v_type"])
    found = settled(facts=LATENT, kv_type=KVType.Q8_0, flash_attention=FlashAttention.OFF)
    assert (found.options.k_type, found.options.v_type) == (KVType.F16, KVType.F16)
    assert found.sentences[0].startswith("K and V can be quantized only with flash attention")


def test_model_that_has_no_flash_attention_is_computed_without() -> None:
    grok = replace(model_8b(), architecture="grok")
    found = settled(facts=grok, kv_type=KVType.Q8_0)
    assert found.options.flash_attention is FlashAttention.OFF
    assert (found.options.v_type, len(found.notices)) == (KVType.F16, 1)
    assert told(settled(facts=grok, flash_attention=FlashAttention.ON)) == ["flash_attention"]


def test_flash_attention_is_left_out_on_a_processor_unless_it_is_needed_or_wanted() -> None:
    assert settled().options.flash_attention is FlashAttention.OFF
    assert settled(kv_type=KVType.Q8_0).options.flash_attention is FlashAttention.AUTO
    assert settled(kv_type=KVType.Q8_0, v_type=KVType.F16).options.flash_attention is FlashAttention.OFF
    assert settled(flash_attention=FlashAttention.ON).options.flash_attention is FlashAttention.ON
    assert settled((CPU, CUDA0)).options.flash_attention is FlashAttention.AUTO
    assert settled((CPU, CUDA0), n_gpu_layers=0).options.flash_attention is FlashAttention.OFF
    assert settled(None).options.flash_attention is FlashAttention.AUTO


def test_states_of_sequences_that_may_never_be_used_are_few() -> None:
    assert n_sequences(DEFAULT_SEQUENCES, has_state=False) == DEFAULT_SEQUENCES
    assert n_sequences(DEFAULT_SEQUENCES, has_state=True) == 4 and n_sequences(1, has_state=True) == 1


# --- batches ---


@pytest.mark.parametrize(
    ("wished", "used", "notices"),
    [
        ((None, None), (DEFAULT_BATCH, CPU_MICRO_BATCH), []),
        ((2048, None), (2048, CPU_MICRO_BATCH), []),
        ((64, None), (64, 64), []),
        ((None, DEFAULT_BATCH), (DEFAULT_BATCH, DEFAULT_BATCH), []),
        ((None, 1024), (1024, 1024), []),
        ((256, 1024), (256, 256), ["n_ubatch"]),
        ((2, None), (DEFAULT_SEQUENCES, DEFAULT_SEQUENCES), ["n_batch"]),
        ((10_000, 9000), (8192, 8192), ["n_batch", "n_ubatch"]),
    ],
)
def test_batches_fit_into_each_other(
    wished: tuple[int | None, int | None], used: tuple[int, int], notices: list[str]
) -> None:
    found = settled(n_batch=wished[0], n_ubatch=wished[1])
    assert (found.options.n_batch, found.options.n_ubatch) == used
    assert told(found) == notices


def test_batch_of_a_small_context_is_not_worth_a_word() -> None:
    for devices, n_ubatch in (((CPU,), CPU_MICRO_BATCH), ((CPU, CUDA0), 256)):
        found = settled(devices, n_ctx=100)
        assert (found.options.n_batch, found.options.n_ubatch) == (256, n_ubatch)
        assert not found.notices


def test_micro_batch_is_small_only_where_no_card_takes_part() -> None:
    assert settled((CPU, CUDA0)).options.n_ubatch == DEFAULT_BATCH
    assert settled((CPU, CUDA0), n_gpu_layers=0).options.n_ubatch == CPU_MICRO_BATCH
    assert settled(None).options.n_ubatch == DEFAULT_BATCH  # it may have one
    assert settled((CPU, CUDA0), n_batch=64).options.n_ubatch == 64


@pytest.mark.parametrize("size", [0, -1, 2**20 + 1])
def test_batch_outside_its_range_is_refused(size: int) -> None:
    with pytest.raises(BadRequest, match="1 to 1,048,576 tokens"):
        LoadOptions(n_ubatch=size)


# --- devices ---


def test_main_device_takes_the_whole_model() -> None:
    found = settled((CPU, CUDA0, CUDA1), main_device="CUDA1")
    assert (found.options.split, found.options.devices) == (Split.NONE, ("CUDA1",))
    assert not found.notices
    assert settled((CPU, CUDA0, CUDA1), split=Split.NONE).options.devices == ("CUDA0",)


@pytest.mark.parametrize("name", ["CUDA7", "CPU", ""])
def test_main_device_that_is_none_is_left_to_weir(name: str) -> None:
    found = settled((CPU, CUDA0, CUDA1), main_device=name)
    assert (found.options, told(found)) == (EffectiveOptions(), ["main_device"])


def test_main_device_does_not_count_where_the_model_is_split() -> None:
    found = settled((CPU, CUDA0, CUDA1), main_device="CUDA1", split=Split.LAYER)
    assert (found.options.devices, told(found)) == (None, ["main_device"])


def test_rows_are_split_only_where_the_backend_can() -> None:
    found = settled((CPU, CUDA0, CUDA1), split=Split.ROW)
    assert (found.options.split, told(found)) == (Split.LAYER, ["split"])
    assert settled((CPU, SYCL0), split=Split.ROW).options.split is Split.ROW


def test_no_card_takes_part_without_layers_for_it() -> None:
    found = settled((CPU, CUDA0, CUDA1), n_gpu_layers=0, split=Split.ROW)
    assert (found.options.devices, found.notices) == ((), ())


def test_what_cannot_be_judged_yet_is_taken_as_it_was_wished() -> None:
    found = settled(None, main_device="CUDA7", n_ctx=None, n_batch=100_000)
    assert (found.options.devices, found.options.n_batch, found.notices) == (("CUDA7",), 100_000, ())


def test_hardware_is_judged_as_ggml_s_devices_are() -> None:
    devices = machine(card(8, 7), card(8, 7, name="CUDA1")).devices
    wishes = Wishes(options=LoadOptions(main_device="CUDA1"))
    assert settle(wishes, devices, None).options.devices == ("CUDA1",)


# --- memory ---


def test_weights_that_are_rearranged_are_read_and_not_mapped_too() -> None:
    assert settled(facts=REARRANGED).options.mmap is False
    assert settled(facts=REARRANGED, mmap=True).options.mmap is True
    assert settled(facts=model_8b()).options.mmap is None
    # With a card they are not rearranged.
    assert settled((CPU, CUDA0), REARRANGED).options.mmap is None
    assert settled((CPU, CUDA0), REARRANGED, n_gpu_layers=0).options.mmap is False


def test_locked_weights_are_not_mapped() -> None:
    found = settled(mlock=True)
    assert (found.options.mlock, found.options.mmap, found.notices) == (True, False, ())
    assert told(settled(mlock=True, mmap=True)) == ["mmap"]


def test_weights_that_cannot_be_locked_are_told() -> None:
    assert told(settled(facts=REARRANGED, mlock=True)) == ["mlock"]


def test_batches_of_rearranged_weights_are_exact_only_while_they_are_small() -> None:
    on_processor, on_card = settled().options, settled((CPU, CUDA0), model_8b()).options
    assert most_exact_batch(on_processor, REARRANGED) == 3
    assert most_exact_batch(on_processor, replace(model_8b(), tensor_bytes={"Q4_0": 1, "Q6_K": 1})) is None
    assert most_exact_batch(on_card, REARRANGED) is None
