"""Facts of quantizations whose headers were not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.hub.hub_values import RemoteModel, RemotePart
from engine.hub.repo_names import models_of, name_without_quantization
from engine.hub.sibling_facts import sibling_facts
from engine.memory.kv_math import bytes_per_token
from engine.models.model_facts import read_facts
from engine.protocol import KVType


def _model(path: str, size: int) -> RemoteModel:
    (model,) = models_of("a/m", "c", [RemotePart(path, size, None)])
    return model


def test_cache_is_exact_and_weights_follow_the_size(starter_model: Path) -> None:
    read = read_facts(starter_model)
    size = starter_model.stat().st_size
    of = _model("m-Q4_1.gguf", size)
    stored = sum(read.tensor_bytes.values())
    found = sibling_facts(read, of, _model("m-Q8_0.gguf", size + stored))
    assert found is not None
    assert (found.name, found.quantization, found.tensor_bytes) == ("m-Q8_0", "Q8_0", {"Q8_0": 2 * stored})
    assert found.weights_bytes == 2 * read.weights_bytes
    assert found.layers == read.layers
    assert bytes_per_token(found, KVType.F16) == bytes_per_token(read, KVType.F16) == 23_040


def test_another_model_is_not_a_sibling(starter_model: Path) -> None:
    read, size = read_facts(starter_model), starter_model.stat().st_size
    of = _model("small-Q4_1.gguf", size)
    assert sibling_facts(read, of, _model("large-Q8_0.gguf", size)) is None
    assert sibling_facts(read, of, _model("small-Q8_0.gguf", 10)) is None


@pytest.mark.parametrize(
    "path",
    [
        "x/Llama-3-8B-Q4_K_M.gguf",
        "Llama-3-8B.i1-IQ2_XXS.gguf",
        "llama-3-8b-f16.gguf",
        "Llama-3-8B-UD-Q4_K_XL.gguf",
        "BF16/Llama-3-8B-BF16-00001-of-00002.gguf",
    ],
)
def test_name_is_that_of_all_quantizations(path: str) -> None:
    assert name_without_quantization(path) == "llama-3-8b"
