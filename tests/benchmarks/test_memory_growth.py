"""How far plans are off where a context is really filled: minutes on a laptop, so no part of `make test`.

Measured is the growth of the worker's resident memory, from a worker that has loaded nothing to one whose
context is full, with micro-batches that a slow machine fills too: of longer ones it never touches the whole
buffer, since its slices are short, and the plan stays above what is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from engine.dry_run import dry_run
from engine.memory.hardware import read_hardware
from engine.memory.memory_plan import Wishes
from engine.memory.planner import plan
from engine.models.model_facts import read_facts
from engine.protocol import KVType, LoadOptions
from tests import model_files, synthetic_caches
from tests.model_files import TokenizerFields
from tests.native.harness import RemoteEngine, remote_engine
from tests.native.worker_growth import growth

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]
MIB = 2**20
SLICE = LoadOptions(n_ubatch=64)
LONG_SLICE = LoadOptions(n_ubatch=256)


@pytest.fixture
def engine() -> Iterator[RemoteEngine]:
    with remote_engine() as remote:
        yield remote


@pytest.fixture(scope="module")
def models(
    model_folder: Path, tokenizer_fields: TokenizerFields, gemma3_model: Path, starter_model: Path
) -> Mapping[str, Path]:
    network = synthetic_caches.deepseek2(tokenizer_fields.n_vocab)
    latent = model_files.write_network(model_folder / "grown-latent.gguf", network, tokenizer_fields)
    return {"sliding": gemma3_model, "latent": latent, "starter": starter_model}


@pytest.mark.parametrize(
    ("kind", "n_ctx", "kv_type", "options"),
    [
        ("sliding", 8192, KVType.F16, LONG_SLICE),
        ("sliding", 8192, KVType.Q4_0, LONG_SLICE),
        ("latent", 2048, KVType.F16, LONG_SLICE),
        ("starter", 2048, KVType.F16, SLICE),
        ("starter", 2048, KVType.Q8_0, SLICE),
    ],
)
def test_full_context_takes_what_was_planned(
    engine: RemoteEngine,
    models: Mapping[str, Path],
    kind: str,
    n_ctx: int,
    kv_type: KVType,
    options: LoadOptions,
) -> None:
    path, here = models[kind], read_hardware(())
    wishes = Wishes(n_ctx=n_ctx, kv_type=kv_type, options=options)
    facts = read_facts(path)
    exact = dry_run(path, plan(facts, here, wishes).shape)
    planned = plan(facts, here, wishes, exact=exact)
    grown = growth(engine, path, wishes, (n_ctx - 300) // 2)
    error = 100 * (planned.total_bytes / grown.rss - 1)
    print(f"{kind} {n_ctx} {kv_type}: {planned.total_bytes / MIB:.1f} MiB planned, {error:+.2f} %")
    assert abs(error) < 3
