"""How long a person waits for a list of models, and for the facts of one with the largest vocabulary."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.models.gguf_header import read_header
from engine.models.header_prefix import FIRST_BYTES, NeedMore, read_header_prefix
from engine.models.library_scan import scan
from engine.models.scanned_model import ScannedModel, from_json, to_json
from tests import generated_models
from tests.generated_models import LARGEST_N_MERGES, LARGEST_N_TOKENS

pytestmark = pytest.mark.benchmark

N_MODELS = 200
RUNS = 7


@pytest.fixture(scope="module")
def largest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("largest") / "largest.gguf"
    return generated_models.write_model(path, n_tokens=LARGEST_N_TOKENS, n_merges=LARGEST_N_MERGES)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    for number in range(N_MODELS):
        owner = folder / f"owner-{number % 20}"
        owner.mkdir(exist_ok=True)
        generated_models.write_model(owner / f"m-{number}.gguf", name=f"Model {number}")
    return folder


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def test_the_largest_vocabulary_is_passed_in_120_ms(largest: Path) -> None:
    read_header(largest)
    taken = [_milliseconds(lambda: read_header(largest)) for _ in range(RUNS)]
    size = read_header(largest).data_offset / 2**20
    print(f"\n777,050 texts, header of {size:.1f} MiB: median {statistics.median(taken):.0f} ms")
    assert statistics.median(taken) < 120


def test_a_remote_header_takes_few_rounds(largest: Path) -> None:
    with largest.open("rb") as file:
        content = file.read(64 * 2**20)
    size = largest.stat().st_size
    there, rounds = FIRST_BYTES, 1
    start = time.perf_counter()
    while isinstance(answer := read_header_prefix(content[:there], "m.gguf", size), NeedMore):
        there, rounds = there + answer.n_bytes, rounds + 1
    milliseconds = (time.perf_counter() - start) * 1000
    print(f"\n{rounds} fetches, {there / 2**20:.0f} MiB together, {milliseconds:.0f} ms to read them")
    assert rounds <= 6
    assert milliseconds < 500


def test_200_models_are_listed_cold_in_10_s_and_warm_in_300_ms(library: Path) -> None:
    for path in library.rglob("*.gguf"):
        _drop_from_memory(path)
    pauses, models = [], []
    asked = time.perf_counter()
    for found in scan([library], {}):
        pauses.append(time.perf_counter() - asked)
        assert isinstance(found, ScannedModel)
        models.append(found)
        asked = time.perf_counter()
    cold = sum(pauses)
    assert len(models) == N_MODELS
    assert all(model.is_chat_model for model in models)
    stored = json.dumps([to_json(model) for model in models])

    def list_again() -> None:
        known = {model.path: model for item in json.loads(stored) if (model := from_json(item))}
        assert list(scan([library], known)) == models

    warm = statistics.median(_milliseconds(list_again) for _ in range(RUNS))
    longest = max(pauses[1:]) * 1000  # the first one imports the gguf package
    print(
        f"\n200 models: cold {cold:.2f} s, the longest pause between two models {longest:.0f} ms, "
        f"warm {warm:.0f} ms with {len(stored) / 1000:.0f} kB of JSON"
    )
    assert cold < 10
    assert warm < 300


def _drop_from_memory(path: Path) -> None:
    """Ask the system to read `path` from the disk next time, where it can be asked."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
