from __future__ import annotations

from dataclasses import replace

import pytest

from engine.memory.token_work import works
from engine.models.model_facts import LayerFacts, LayerKind
from engine.protocol import KVType
from tests.engine.memory.planned_models import model_8b

FULL, SLIDING = (LayerFacts(kind, 8, 1024, 1024) for kind in (LayerKind.FULL, LayerKind.SLIDING))


def test_a_token_reads_weights_and_the_whole_cache() -> None:
    facts = model_8b()
    places = ["CPU"] * (facts.n_layers + 1)
    work = works(facts, places, 1000)["CPU"]
    assert sum(work.weights.values()) == pytest.approx(facts.active_bytes)
    assert work.kv_bytes == 1000 * sum(2 * (one.key_values + one.value_values) for one in facts.layers)
    assert work.head_cells == 1000 * facts.n_layers * (facts.n_heads or 0)
    narrow = works(facts, places, 1000, KVType.Q8_0)["CPU"]
    assert narrow.kv_bytes == pytest.approx(work.kv_bytes * 34 / 64)
    assert narrow.k_type == "q8_0"


def test_each_device_has_the_work_of_its_layers() -> None:
    facts = model_8b()
    places = ["CUDA0"] * 8 + ["CPU"] * (facts.n_layers - 8) + ["CPU"]
    found = works(facts, places, 100)
    assert (found["CUDA0"].n_layers, found["CPU"].n_layers) == (8, facts.n_layers - 8)
    assert (found["CUDA0"].n_logits, found["CPU"].n_logits) == (0, facts.n_vocab or 0)
    assert sum(one.bytes_read for one in found.values()) == pytest.approx(
        works(facts, ["CPU"] * (facts.n_layers + 1), 100)["CPU"].bytes_read
    )


def test_without_flash_attention_all_cells_are_computed_in_steps_of_256() -> None:
    facts = replace(model_8b(), layers=(FULL, SLIDING), n_layers=2, sliding_window=512, layer_bytes=())
    for n_cells, computed in ((0, 256), (255, 256), (256, 512), (4000, 4096)):
        work = works(facts, ["CPU"] * 3, n_cells, flash_attention=False)["CPU"]
        assert work.head_cells == 2 * computed * (facts.n_heads or 0)
        assert not work.flash_attention


def test_query_heads_share_the_heads_of_the_cache() -> None:
    facts = model_8b()
    work = works(facts, ["CPU"] * (facts.n_layers + 1), 100)["CPU"]
    assert work.sharing == (facts.n_heads or 0) / facts.layers[0].n_kv_heads


def test_a_sliding_layer_looks_at_its_window_alone() -> None:
    facts = replace(model_8b(), layers=(FULL, SLIDING), n_layers=2, sliding_window=512, layer_bytes=())
    short, long = (works(facts, ["CPU"] * 3, n)["CPU"].head_cells for n in (512, 4096))
    assert (short, long) == (2 * 512 * (facts.n_heads or 0), (512 + 4096) * (facts.n_heads or 0))
