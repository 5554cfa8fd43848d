"""Published figures of well-known models, and the arithmetic of cells."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from engine.memory.kv_math import bytes_per_token, can_quantize, kv_sizes, padded_cells, windowed_cells
from engine.models.model_facts import LayerFacts, LayerKind, ModelFacts, read_facts
from engine.protocol import KVType

F16, Q8_0, Q4_0 = KVType.F16, KVType.Q8_0, KVType.Q4_0


@pytest.fixture(scope="module")
def starter(starter_model: Path) -> ModelFacts:
    return read_facts(starter_model)


def with_layers(facts: ModelFacts, *layers: LayerFacts, window: int | None = None) -> ModelFacts:
    return dataclasses.replace(facts, layers=layers, sliding_window=window)


def attention(n_kv_heads: int, head: int = 128, kind: LayerKind = LayerKind.FULL) -> LayerFacts:
    return LayerFacts(kind, n_kv_heads, n_kv_heads * head, n_kv_heads * head)


@pytest.mark.parametrize(("n_kv_heads", "n_bytes"), [(32, 524_288), (8, 131_072), (1, 16_384)])
def test_heads_of_32_layers(starter: ModelFacts, n_kv_heads: int, n_bytes: int) -> None:
    assert bytes_per_token(with_layers(starter, *[attention(n_kv_heads)] * 32), F16) == n_bytes


def test_starter_model(starter: ModelFacts) -> None:
    assert bytes_per_token(starter, F16) == 23_040
    assert kv_sizes(starter, 8192, F16).kv_bytes == 180 * 2**20
    assert kv_sizes(starter, 8192, F16).kv_by_layer == (6 * 2**20,) * 30


@pytest.mark.parametrize(("kv_type", "share"), [(F16, 64), (Q8_0, 34), (Q4_0, 18)])
def test_types_differ_by_their_blocks(starter: ModelFacts, kv_type: KVType, share: int) -> None:
    assert bytes_per_token(starter, kv_type) * 64 == 23_040 * share


def test_latent_attention_of_deepseek_v3(starter: ModelFacts) -> None:
    latent = LayerFacts(LayerKind.FULL, 1, 576, 0)
    assert bytes_per_token(with_layers(starter, *[latent] * 61), F16) == 70_272


def test_contexts_are_rounded_up_to_whole_steps(starter: ModelFacts) -> None:
    assert [padded_cells(n) for n in (1, 256, 257, 1000)] == [256, 256, 512, 1024]
    assert kv_sizes(starter, 1000, F16).kv_bytes == 1024 * 23_040


def test_sliding_layers_keep_the_window_and_a_micro_batch(starter: ModelFacts) -> None:
    facts = with_layers(starter, attention(1, kind=LayerKind.SLIDING), attention(1), window=1024)
    assert kv_sizes(facts, 8192, F16).kv_by_layer == (8192 * 512, 8192 * 512)
    assert kv_sizes(facts, 8192, F16, swa_full=False).kv_by_layer == (1536 * 512, 8192 * 512)
    assert windowed_cells(facts, 8192, 4, 512) == 4608
    assert windowed_cells(facts, 1000, 4, 512) == 1024
    assert windowed_cells(facts, 8192, 1, 64) == 1280


def test_states_are_constant_and_one_for_each_sequence(starter: ModelFacts) -> None:
    state = LayerFacts(LayerKind.RECURRENT, state_values=1000)
    facts = with_layers(starter, state, attention(1))
    for n_ctx in (256, 8192):
        assert kv_sizes(facts, n_ctx, Q4_0, 4).state_by_layer == (16_000, 0)
    assert kv_sizes(facts, 256, F16).state_bytes == 4000
    assert kv_sizes(facts, 256, F16).kv_by_layer == (0, 256 * 512)


def test_blocks_must_not_reach_over_two_heads(starter: ModelFacts) -> None:
    narrow = with_layers(starter, LayerFacts(LayerKind.RECURRENT, state_values=9), attention(2, head=80))
    assert can_quantize(narrow, F16)
    assert not can_quantize(narrow, Q8_0)
    assert can_quantize(with_layers(starter, attention(2, head=96)), Q4_0)
