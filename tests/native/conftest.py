"""Engines for the native tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.llama.model import Model
from tests import model_files, synthetic_caches, synthetic_models
from tests.model_files import TokenizerFields
from tests.native.harness import LocalEngine, RemoteEngine, loaded, remote_engine


@pytest.fixture(scope="session")
def starter(starter_model: Path) -> Iterator[Model]:
    """The starter model, loaded once in this process."""
    with loaded(starter_model) as model:
        yield model


@pytest.fixture
def local(starter: Model) -> Iterator[Callable[..., LocalEngine]]:
    """Makes local engines over the starter model with a given n_ctx."""
    engines: list[LocalEngine] = []

    def make(n_ctx: int, **more: Any) -> LocalEngine:
        engines.append(LocalEngine(starter, n_ctx, **more))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def engine() -> Iterator[RemoteEngine]:
    """A fresh worker process."""
    with remote_engine() as remote:
        yield remote


@pytest.fixture(scope="session")
def cache_models(
    model_folder: Path,
    tokenizer_fields: TokenizerFields,
    starter_model: Path,
    mamba_model: Path,
    gemma3_model: Path,
) -> Mapping[str, Path]:
    """A model for each kind of cache."""
    n_vocab = tokenizer_fields.n_vocab
    networks = {
        "grouped heads": synthetic_models.llama(n_vocab, n_layers=2, n_ctx_train=2048, seed=0, n_kv_heads=1),
        "heads by layer": synthetic_caches.openelm(n_vocab),
        "latent": synthetic_caches.deepseek2(n_vocab),
        "hybrid": synthetic_caches.jamba(n_vocab),
        "convolutions": synthetic_caches.lfm2(n_vocab),
    }
    written = {
        kind: model_files.write_network(model_folder / f"{kind}.gguf", network, tokenizer_fields)
        for kind, network in networks.items()
    }
    return written | {"starter": starter_model, "recurrent": mamba_model, "sliding": gemma3_model}
