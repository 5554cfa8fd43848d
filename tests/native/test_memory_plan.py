"""What is planned is what llama.cpp then allocates, and what the worker's process then takes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from engine import dry_run as dry_run_module
from engine.dry_run import Refused, dry_run, try_out
from engine.memory.compute_plan import graph_bytes, logits_bytes
from engine.memory.hardware import Hardware, read_hardware
from engine.memory.memory_plan import PROCESS_BYTES, LoadShape, MemoryPlan, Wishes
from engine.memory.planner import plan
from engine.models.model_facts import read_facts
from engine.protocol import DEFAULT_SEQUENCES, MOST_DRAFTED, FlashAttention, KVType, LoadOptions
from tests import model_files, synthetic_caches
from tests.model_files import TokenizerFields
from tests.native.harness import RemoteEngine, user
from tests.native.worker_growth import growth, idle

MIB = 2**20
LOG_STEP = 0.01 * MIB
SHAPE = LoadShape(512, 0, 4)


@pytest.fixture(scope="module")
def models(
    model_folder: Path,
    tokenizer_fields: TokenizerFields,
    starter_model: Path,
    mamba_model: Path,
    gemma3_model: Path,
) -> Mapping[str, Path]:
    network = synthetic_caches.jamba(tokenizer_fields.n_vocab)
    hybrid = model_files.write_network(model_folder / "planned-hybrid.gguf", network, tokenizer_fields)
    return {"starter": starter_model, "recurrent": mamba_model, "sliding": gemma3_model, "hybrid": hybrid}


@pytest.fixture(scope="module")
def here() -> Hardware:
    return read_hardware(())


@pytest.fixture(scope="module")
def rearranged_model(model_folder: Path, tokenizer_fields: TokenizerFields) -> Path:
    return model_files.write_rearranged(model_folder / "rearranged.gguf", tokenizer_fields)


def exact_plan(path: Path, here: Hardware, wishes: Wishes) -> MemoryPlan:
    facts = read_facts(path)
    exact = dry_run(path, plan(facts, here, wishes).shape)
    assert exact is not None
    return plan(facts, here, wishes, exact=exact)


@pytest.mark.parametrize("kind", ["starter", "recurrent", "sliding", "hybrid"])
@pytest.mark.parametrize("kv_type", [KVType.F16, KVType.Q8_0])
def test_load_allocates_what_was_planned(
    models: Mapping[str, Path], here: Hardware, engine: RemoteEngine, kind: str, kv_type: KVType
) -> None:
    planned = exact_plan(models[kind], here, Wishes(n_ctx=1536, kv_type=kv_type))
    assert planned.is_exact
    info = engine.load(models[kind], n_ctx=1536, kv_type=kv_type).info
    (allocated,) = info.buffers
    assert planned.weights_bytes == info.size_bytes
    assert planned.weights_bytes == pytest.approx(allocated.weights, abs=LOG_STEP)
    assert planned.kv_bytes + planned.state_bytes == pytest.approx(allocated.kv, abs=2 * LOG_STEP)
    assert planned.compute_bytes == allocated.compute


# A short prompt touches all of so small a graph, and a slow machine takes no longer slices. Without flash
# attention the graph is touched only as the context fills: see tests/benchmarks/test_memory_growth.py.
SMALL_BATCH = LoadOptions(n_ubatch=64, flash_attention=FlashAttention.ON)


def is_within(planned: int, grown: int, path: Path) -> bool:
    """Whether they agree to 3 %, but for rows of logits that only drafts and many replies at once touch.

    They are in the graph and behind it.
    """
    rows = 2 * (DEFAULT_SEQUENCES + MOST_DRAFTED) * (read_facts(path).n_vocab or 0) * 4
    return 0.97 * grown <= planned <= 1.03 * grown + rows


@pytest.mark.parametrize(
    ("kind", "n_ctx", "n_words"),
    [
        ("starter", 256, 80),
        ("starter", 2048, 40),
        ("starter", 8192, 40),
        ("recurrent", 2048, 950),
        ("sliding", 2048, 950),
        ("hybrid", 2048, 950),
    ],
)
def test_process_grows_by_what_was_planned(
    models: Mapping[str, Path], here: Hardware, engine: RemoteEngine, kind: str, n_ctx: int, n_words: int
) -> None:
    wishes = Wishes(n_ctx=n_ctx, options=SMALL_BATCH)
    grown = growth(engine, models[kind], wishes, n_words)
    planned = exact_plan(models[kind], here, wishes)
    assert is_within(planned.total_bytes, grown.rss, models[kind])


@pytest.mark.parametrize("mmap", [None, True])
def test_rearranged_weights_are_counted_as_they_lie(
    rearranged_model: Path, here: Hardware, engine: RemoteEngine, mmap: bool | None
) -> None:
    wishes = Wishes(n_ctx=1024, options=replace(SMALL_BATCH, mmap=mmap))
    planned = exact_plan(rearranged_model, here, wishes)
    grown = growth(engine, rearranged_model, wishes, n_words=440)
    (allocated,) = grown.info.buffers
    in_log = allocated.weights + allocated.file_cache
    assert planned.weights_bytes + planned.file_cache_bytes == pytest.approx(in_log, abs=2 * LOG_STEP)
    assert is_within(planned.total_bytes + planned.file_cache_bytes, grown.rss, rearranged_model)
    assert (planned.file_cache_bytes > 5 * MIB) is (mmap is True)
    of_file = planned.weights_bytes - read_facts(rearranged_model).rearranged.matrices
    mapped = of_file + planned.file_cache_bytes if mmap else 0
    code = 8 * MIB  # that a load brings in, NumPy's for the most part
    assert grown.rss_file == pytest.approx(mapped + code, abs=4 * MIB)


def test_engine_is_as_large_as_is_said_before_it_loads_anything(
    starter_model: Path, engine: RemoteEngine
) -> None:
    process = idle(engine)
    rss = process.memory_info().rss
    engine.load(starter_model, n_ctx=256)
    engine.ask([user("Name a river.")], max_tokens=1)
    (template,) = process.children()
    assert rss + template.memory_full_info().uss == pytest.approx(PROCESS_BYTES, rel=0.1)


def test_layers_in_ram_are_told(starter_model: Path) -> None:
    exact = dry_run(starter_model, SHAPE)
    assert exact is not None
    assert exact.layer_devices == ("CPU",) * 31


@pytest.mark.parametrize("kind", ["starter", "sliding"])
@pytest.mark.parametrize("n_ctx", [256, 2048, 8192])
def test_formula_is_near_where_no_dry_run_is_possible(
    models: Mapping[str, Path], kind: str, n_ctx: int
) -> None:
    shape, facts = LoadShape(n_ctx, 0, 4), read_facts(models[kind])
    exact = dry_run(models[kind], shape)
    assert exact is not None
    estimated = graph_bytes(facts, shape) + logits_bytes(facts, shape)
    assert estimated == pytest.approx(exact.compute_bytes["CPU"], rel=0.02, abs=0.1 * MIB)


def test_dry_run_allocates_nothing_of_what_it_lays_out(starter_model: Path) -> None:
    code = (
        "import sys, psutil, pathlib\n"
        "from engine.llama.dry_run import measure\n"
        "from engine.memory.memory_plan import LoadShape\n"
        "found = measure(pathlib.Path(sys.argv[1]), LoadShape(8192, 0, 4))\n"
        "print(found.kv_bytes, psutil.Process().memory_info().rss)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(starter_model)], capture_output=True, text=True, check=True
    )
    kv_bytes, rss = map(int, run.stdout.split())
    assert kv_bytes == 180 * MIB
    assert rss < 120 * MIB


def test_file_that_ends_the_process_costs_the_dry_run_alone(bad_files: Mapping[str, Path]) -> None:
    assert dry_run(bad_files["blocks-513"], SHAPE) is None


@pytest.mark.parametrize(
    ("name", "reason"), [("cut-half", "not within the file bounds"), ("architecture-unknown", "nosucharch")]
)
def test_file_that_is_refused_is_told_with_the_reason(
    bad_files: Mapping[str, Path], name: str, reason: str
) -> None:
    found = try_out(bad_files[name], SHAPE)
    assert isinstance(found, Refused)
    assert reason in found.reason
    assert dry_run(bad_files[name], SHAPE) is None


def test_dry_run_that_hangs_is_ended(starter_model: Path) -> None:
    assert dry_run(starter_model, SHAPE, timeout_s=0.001) is None
    assert not [child for child in psutil.Process().children() if "dry-run" in child.name()]


def test_context_of_billions_starts_no_process(starter_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run_module, "_SPAWN", None)
    assert dry_run(starter_model, LoadShape(2**31 - 1, 0, 4)) is None
