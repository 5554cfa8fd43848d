"""The curated models: what is written in the file, and what is made of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from app.data.catalogue import CATALOGUE_PATH, CatalogueModel, model_for, read_catalogue
from engine.errors import BadRequest, KnownError
from engine.hub.hub_values import RemoteModel, RemotePart, RepoDetails, RepoSummary, WeightsFormat
from engine.hub.repo_names import is_repo_id, models_of, quantization_of
from engine.memory.kv_math import kv_sizes
from engine.models.architectures import is_known
from engine.protocol import KVType

COMMIT = "0" * 40


def details(entry: CatalogueModel, *files: str) -> RepoDetails:
    parts = [RemotePart(file, 1000, None) for file in files]
    summary = RepoSummary(entry.repo_id, WeightsFormat.GGUF)
    return RepoDetails(summary, COMMIT, models_of(entry.repo_id, COMMIT, parts))


@pytest.mark.parametrize("model", read_catalogue(), ids=lambda model: f"{model.name} {model.quantization}")
def test_entry_names_a_file_of_a_repository_that_llama_cpp_can_load(model: CatalogueModel) -> None:
    assert is_repo_id(model.repo_id)
    assert quantization_of(model.file) == model.quantization
    assert is_known(model.architecture)
    assert model.good_at


def test_list_goes_from_under_1_gb_to_nearly_30_gb() -> None:
    sizes = [model.size for model in read_catalogue()]
    assert min(sizes) < 1e9
    assert 25e9 < max(sizes) < 30e9
    assert len({model.id for model in read_catalogue()}) == len(sizes)


def test_entry_tells_a_plan_its_weights_and_its_cache() -> None:
    model = next(model for model in read_catalogue() if model.name == "SmolLM3 3B")
    assert model.facts.weights_bytes == model.size == 1_915_305_312
    # 36 layers of 4 KV heads of 128 numbers, keys and values, 2 bytes each
    assert kv_sizes(model.facts, 8192, KVType.F16).kv_bytes == 8192 * 36 * 4 * 128 * 2 * 2
    assert model.facts.is_chat_model


def test_expert_model_reads_its_active_share_of_the_weights() -> None:
    model = next(model for model in read_catalogue() if model.name == "gpt-oss 20B")
    assert model.facts.active_bytes == pytest.approx(model.size * 3.6 / 20.9, rel=1e-3)


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2, "models": []}', '{"version": 1, "models": [{}]}'])
def test_damaged_catalogue_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "catalogue.json"
    path.write_text(text)
    with pytest.raises(KnownError, match="search the Hub instead"):
        read_catalogue(path)


def test_impossible_sizes_are_refused(tmp_path: Path) -> None:
    stored = json.loads(CATALOGUE_PATH.read_text())
    stored["models"][0]["n_active_params"] = stored["models"][0]["n_params"] + 1
    path = tmp_path / "catalogue.json"
    path.write_text(json.dumps(stored))
    with pytest.raises(KnownError):
        read_catalogue(path)


ENTRY = read_catalogue()[0]


def chosen(model: RemoteModel) -> str:
    return model.parts[0].path


def test_file_of_the_same_name_is_taken_in_any_case() -> None:
    found = model_for(ENTRY, details(ENTRY, ENTRY.file.lower(), "other-Q4_K_M.gguf"))
    assert chosen(found) == ENTRY.file.lower()


def test_renamed_file_is_found_by_its_quantization() -> None:
    found = model_for(ENTRY, details(ENTRY, "Renamed-Q4_K_M.gguf", "Renamed-Q8_0.gguf"))
    assert chosen(found) == "Renamed-Q4_K_M.gguf"


def test_repository_without_that_quantization_says_what_it_has() -> None:
    with pytest.raises(BadRequest, match="Q8_0"):
        model_for(dataclasses.replace(ENTRY), details(ENTRY, "Renamed-Q8_0.gguf"))
