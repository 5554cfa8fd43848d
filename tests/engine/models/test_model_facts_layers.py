"""What each layer keeps, architecture by architecture; tests/native/test_kv_math.py asks llama.cpp too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.models.model_facts import LayerKind
from tests.engine.models.written_facts import blocks, facts, kinds

FULL, SLIDING, RECURRENT, NONE = LayerKind


def test_heads_and_their_sizes_may_differ_by_layer(tmp_path: Path) -> None:
    settings = blocks(3, attention__head_count=[2, 4, 2], attention__head_count_kv=[2, 0, 1])
    found = facts(tmp_path, "deci", settings | {"attention.value_length": 48})
    assert [layer.n_kv_heads for layer in found.layers] == [2, 0, 1]
    assert [layer.key_values for layer in found.layers] == [64, 0, 32]
    assert [layer.value_values for layer in found.layers] == [96, 0, 48]
    assert (kinds(found), found.n_heads) == ([FULL, NONE, FULL], 4)


def test_latent_attention_keeps_one_latent_and_no_value(tmp_path: Path) -> None:
    mla = {"attention.key_length_mla": 192, "attention.value_length_mla": 128}
    settings = blocks(1, attention__key_length=576, attention__value_length=512, attention__head_count_kv=1)
    settings |= {"attention.kv_lora_rank": 512, "attention.q_lora_rank": 1536}
    new, old = facts(tmp_path, "deepseek2", settings | mla), facts(tmp_path, "deepseek2", settings)
    assert (new.layers[0].key_values, new.layers[0].value_values) == (576, 0)
    assert (old.layers[0].key_values, old.layers[0].value_values) == (576, 512)
    assert (new.kv_lora_rank, new.q_lora_rank) == (512, 1536)


@pytest.mark.parametrize(
    ("architecture", "n_layers", "settings", "window", "full"),
    [
        ("gemma2", 4, {}, 4096, [1, 3]),
        ("gemma3", 12, {"attention.sliding_window": 512}, 512, [5, 11]),
        ("gemma3", 6, {}, None, range(6)),
        ("gpt-oss", 4, {"attention.sliding_window": 128}, 128, [1, 3]),
        ("gpt-oss", 3, {"attention.sliding_window": 128, "attention.sliding_window_pattern": 3}, 128, [2]),
        ("smallthinker", 5, {"attention.sliding_window": 1}, 4096, [0, 4]),
        ("llama4", 4, {}, 8192, [3]),
        ("llama4", 4, {"attention.sliding_window": 0}, None, range(4)),
        ("step35", 3, {"attention.sliding_window": 9, "attention.sliding_window_pattern": [1, 0]}, 9, [1, 2]),
        ("exaone4", 64, {}, 4096, range(3, 64, 4)),
        ("exaone4", 30, {"attention.sliding_window": 4096}, None, range(30)),
        ("phi3", 4, {"attention.sliding_window": 2047}, None, range(4)),
        ("llama", 4, {"attention.sliding_window": 4096}, None, range(4)),
    ],
)
def test_layers_slide_as_their_architecture_says(
    tmp_path: Path,
    architecture: str,
    n_layers: int,
    settings: dict[str, Any],
    window: int | None,
    full: Sequence[int],
) -> None:
    found = facts(tmp_path, architecture, blocks(n_layers) | settings)
    assert found.sliding_window == window
    assert [layer for layer, kind in enumerate(kinds(found)) if kind is FULL] == list(full)


def test_sliding_layers_may_have_other_heads_and_the_last_layers_no_cache(tmp_path: Path) -> None:
    settings = blocks(4, attention__sliding_window=512, attention__sliding_window_pattern=[1, 0, 1, 0])
    settings |= {"attention.key_length_swa": 16, "attention.value_length_swa": 16}
    found = facts(tmp_path, "gemma4", settings | {"attention.shared_kv_layers": 2})
    assert kinds(found) == [SLIDING, FULL, SLIDING, FULL]
    assert [layer.key_values for layer in found.layers] == [32, 64, 0, 0]


MAMBA = {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16, "ssm.group_count": 2}
MAMBA_STATE = 3 * (128 + 2 * 2 * 16) + 16 * 128


@pytest.mark.parametrize(
    ("architecture", "settings", "expected", "state"),
    [
        ("mamba2", MAMBA, [RECURRENT] * 4, MAMBA_STATE),
        ("falcon-h1", MAMBA, [FULL] * 4, MAMBA_STATE),
        ("qwen3next", MAMBA, [RECURRENT, RECURRENT, RECURRENT, FULL], MAMBA_STATE),
        ("qwen35", MAMBA | {"full_attention_interval": 2}, [RECURRENT, FULL, RECURRENT, FULL], MAMBA_STATE),
        (
            "granitehybrid",
            MAMBA | {"attention.head_count_kv": [0, 1, 0, 0]},
            [RECURRENT, FULL, RECURRENT, RECURRENT],
            MAMBA_STATE,
        ),
        (
            "nemotron_h",
            MAMBA | {"attention.head_count_kv": [0, 1, 0, 0], "feed_forward_length": [0, 0, 8, 0]},
            [RECURRENT, FULL, NONE, RECURRENT],
            MAMBA_STATE,
        ),
        (
            "kimi-linear",
            {"kda.head_dim": 32, "ssm.conv_kernel": 4, "attention.head_count_kv": [0, 0, 0, 2]},
            [RECURRENT, RECURRENT, RECURRENT, FULL],
            3 * 3 * 64 + 32 * 32 * 2,
        ),
        ("rwkv7", {"wkv.head_size": 32}, [RECURRENT] * 4, 2 * 64 + 64 * 32),
        ("minimax-01", {"full_attention_interval": 4}, [RECURRENT, RECURRENT, RECURRENT, FULL], 32 * 32 * 2),
    ],
)
def test_layers_that_keep_a_state(
    tmp_path: Path, architecture: str, settings: dict[str, Any], expected: list[LayerKind], state: int
) -> None:
    found = facts(tmp_path, architecture, blocks(4) | settings)
    assert kinds(found) == expected
    states = {layer.state_values for layer in found.layers if layer.kind is RECURRENT}
    assert states == ({state} if architecture != "falcon-h1" else set())
    assert found.has_recurrent_state
    assert found.layers[0].state_values == state
    assert not found.can_shift
    assert found.reason is not None
    assert "cannot forget single turns" in found.reason


@pytest.mark.parametrize(
    ("architecture", "settings", "can_shift"),
    [
        ("qwen2vl", {}, False),
        ("qwen3vlmoe", {}, False),
        ("step35", {}, False),
        ("glm4", {"rope.dimension_sections": [16, 24, 24, 0]}, False),
        ("glm4", {"rope.dimension_sections": [0, 0, 0, 0]}, True),
        ("glm4", {}, True),
        ("qwen3", {}, True),
        ("dream", {}, False),
    ],
)
def test_positions_of_several_numbers_cannot_shift(
    tmp_path: Path, architecture: str, settings: dict[str, Any], can_shift: bool
) -> None:
    found = facts(tmp_path, architecture, blocks(1) | settings)
    assert found.can_shift == can_shift
    assert (found.reason is None) == can_shift


def test_looped_model_has_a_cache_for_each_pass(tmp_path: Path) -> None:
    found = facts(tmp_path, "nanbeige", blocks(3, num_loops=2))
    assert (found.n_layers, len(found.layers)) == (3, 6)
    assert len(facts(tmp_path, "nanbeige", blocks(3, num_loops=2**31)).layers) <= 512


def test_caches_that_hold_more_than_keys_and_values_are_marked(tmp_path: Path) -> None:
    assert not facts(tmp_path, "deepseek32", blocks(1)).is_cache_exact
    assert facts(tmp_path, "qwen3", blocks(1)).is_cache_exact
