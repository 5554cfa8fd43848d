"""Engines for the native tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.llama.model import Model
from tests.native.harness import LocalEngine, RemoteEngine, loaded, remote_engine


@pytest.fixture(scope="session")
def starter(starter_model: Path) -> Iterator[Model]:
    """The starter model, loaded once in this process."""
    with loaded(starter_model) as model:
        yield model


@pytest.fixture
def local(starter: Model) -> Iterator[Callable[[int], LocalEngine]]:
    """Makes local engines over the starter model with a given n_ctx."""
    engines: list[LocalEngine] = []

    def make(n_ctx: int) -> LocalEngine:
        engines.append(LocalEngine(starter, n_ctx))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def engine() -> Iterator[RemoteEngine]:
    """A fresh worker process."""
    with remote_engine() as remote:
        yield remote
