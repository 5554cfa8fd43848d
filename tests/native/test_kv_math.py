"""What Weir counts before a load is what llama.cpp then says it allocated, to the last digit it prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.memory.kv_math import can_quantize, kv_sizes, padded_cells, windowed_cells
from engine.models.model_facts import LayerKind, read_facts
from engine.protocol import KVType
from tests import model_files, synthetic_models
from tests.model_files import TokenizerFields
from tests.native.harness import CACHE_KINDS, loaded

# So many cells and sequences make a byte too much in a row, or four in a state, a digit in the log.
N_CTX, N_SEQ_MAX, N_BATCH = 32_768, 128, 64

_CACHE = re.compile(r"llama_(kv_cache|memory_recurrent)\w*: size = +([0-9.]+) MiB \( *(\d+) cells")


def _allocated(model: Model, params: ContextParams) -> list[tuple[str, str, int]]:
    """Kind, MiB and cells of every cache that llama.cpp makes, in its own words."""
    context = Context(model, params)
    context.close()
    lines: Iterable[str] = list(model.backend.log)
    return [(match[1], match[2], int(match[3])) for match in map(_CACHE.match, lines) if match]


def _logged(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:.2f}"


@pytest.mark.parametrize("kind", CACHE_KINDS)
@pytest.mark.parametrize("kv_type", KVType)
def test_cache_is_as_large_as_counted(cache_models: Mapping[str, Path], kind: str, kv_type: KVType) -> None:
    facts = read_facts(cache_models[kind])
    assert can_quantize(facts, kv_type)
    sizes = kv_sizes(facts, N_CTX, kv_type, N_SEQ_MAX, n_ubatch=N_BATCH)
    with loaded(cache_models[kind]) as model:
        found = _allocated(model, ContextParams(N_CTX, N_SEQ_MAX, n_batch=N_BATCH, kv_type=kv_type))
    caches = [size for name, size, _cells in found if name == "kv_cache"]
    states = [size for name, size, _cells in found if name == "memory_recurrent"]
    sliding = sum(
        n_bytes
        for layer, n_bytes in zip(facts.layers, sizes.kv_by_layer, strict=True)
        if layer.kind is LayerKind.SLIDING
    )
    assert caches == [_logged(size) for size in (sizes.kv_bytes - sliding, sliding) if size]
    assert states == ([_logged(sizes.state_bytes)] if sizes.state_bytes else [])


@pytest.mark.parametrize(("n_ctx", "n_seq_max"), [(100, 1), (300, 1), (4096, 1), (4096, 4), (1000, 64)])
def test_window_of_sliding_layers_is_as_large_as_counted(
    gemma3_model: Path, n_ctx: int, n_seq_max: int
) -> None:
    facts = read_facts(gemma3_model)
    sizes = kv_sizes(facts, n_ctx, KVType.F16, n_seq_max, n_ubatch=N_BATCH, swa_full=False)
    with loaded(gemma3_model) as model:
        params = ContextParams(n_ctx, n_seq_max, n_batch=N_BATCH, swa_full=False)
        (_, full, full_cells), (_, slid, slid_cells) = _allocated(model, params)
    assert (full_cells, slid_cells) == (
        padded_cells(n_ctx),
        windowed_cells(facts, n_ctx, n_seq_max, N_BATCH),
    )
    assert full == _logged(sizes.kv_by_layer[5])
    assert slid == _logged(sum(sizes.kv_by_layer[:5]))


def test_type_that_does_not_fit_the_heads_is_refused_by_both(
    tmp_path: Path, tokenizer_fields: TokenizerFields
) -> None:
    network = synthetic_models.gemma3(tokenizer_fields.n_vocab, sliding_window=64, seed=0, head=16)
    path = model_files.write_network(tmp_path / "narrow.gguf", network, tokenizer_fields)
    facts = read_facts(path)
    assert can_quantize(facts, KVType.F16)
    assert not can_quantize(facts, KVType.Q8_0)
    with loaded(path) as model, pytest.raises(Exception, match="does not divide"):
        Context(model, ContextParams(256, kv_type=KVType.Q8_0))


@pytest.mark.parametrize("kind", CACHE_KINDS)
def test_weights_are_as_large_as_counted(cache_models: Mapping[str, Path], kind: str) -> None:
    facts = read_facts(cache_models[kind])
    with loaded(cache_models[kind]) as model:
        assert facts.weights_bytes == model.size_bytes
        assert facts.n_params == model.n_params
        logged = sum(model.buffers.weights.values())
    assert _logged(facts.weights_bytes) == _logged(logged)


@pytest.mark.parametrize("kind", CACHE_KINDS)
def test_can_shift_is_what_the_loaded_model_says(cache_models: Mapping[str, Path], kind: str) -> None:
    facts = read_facts(cache_models[kind])
    with loaded(cache_models[kind]) as model:
        context = Context(model, ContextParams(256))
        can_shift = context.can_shift and not model.has_recurrent_state
        context.close()
        assert facts.has_recurrent_state == model.has_recurrent_state
        assert (facts.sliding_window or 0) == model.n_swa
    assert facts.can_shift == can_shift
    assert (facts.reason is None) == can_shift
