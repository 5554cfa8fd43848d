"""What the engine's process needs grows with what it keeps books about."""

from __future__ import annotations

import dataclasses

from engine.memory.engine_plan import engine_bytes
from engine.memory.memory_plan import LoadShape
from tests.engine.memory.planned_models import MIB, N_VOCAB, model_8b

SHAPE = LoadShape(8192, 0, 4)


def test_engine_grows_with_vocabulary_merges_cells_layers_and_threads() -> None:
    facts = model_8b()
    usual = engine_bytes(facts, SHAPE, 4)
    assert 55 * MIB < usual < 65 * MIB
    assert engine_bytes(dataclasses.replace(facts, n_vocab=2 * N_VOCAB, n_merges=N_VOCAB), SHAPE, 4) == (
        usual + 152 * N_VOCAB
    )
    assert engine_bytes(dataclasses.replace(facts, n_merges=2 * N_VOCAB), SHAPE, 4) == usual + 137 * N_VOCAB
    assert engine_bytes(facts, dataclasses.replace(SHAPE, n_ctx=16_384), 4) == usual + 350 * 8192
    assert engine_bytes(dataclasses.replace(facts, n_layers=42), SHAPE, 4) == usual + 10 * 100 * 1024
    assert engine_bytes(facts, SHAPE, 12) == usual + 8 * 64 * 1024


def test_vocabulary_without_merges_needs_none_of_their_room() -> None:
    facts = model_8b()
    sentencepiece = dataclasses.replace(facts, tokenizer="llama")
    less = engine_bytes(facts, SHAPE, 4) - engine_bytes(sentencepiece, SHAPE, 4)
    assert less == 2 * MIB + 137 * N_VOCAB


def test_state_alone_has_no_cells() -> None:
    facts = dataclasses.replace(model_8b(), layers=())
    assert engine_bytes(facts, SHAPE, 4) == engine_bytes(facts, dataclasses.replace(SHAPE, n_ctx=256), 4)
