"""A short benchmark of the real engine: what it measures is what was asked for, and it can be ended."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import pytest

from engine.llama.batch import Batch
from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.protocol import (
    Bench,
    BenchCase,
    BenchFinished,
    BenchKind,
    BenchProgress,
    BenchResult,
    Cancel,
    EngineDied,
    ErrorCode,
    Failed,
    FlashAttention,
    KVType,
)
from tests.conftest import SmallModels
from tests.native.harness import RemoteEngine


def measured(
    engine: RemoteEngine, path: Path, *cases: BenchCase, repetitions: int = 2
) -> tuple[list[BenchResult], BenchFinished | Failed]:
    """The results, and how the run ended."""
    engine.client.send(Bench(str(path), cases, repetitions))
    results: list[BenchResult] = []
    while True:
        event: object = engine.next(BenchProgress, BenchResult, BenchFinished, Failed, EngineDied)
        if isinstance(event, BenchResult):
            results.append(event)
        assert not isinstance(event, EngineDied), event
        if isinstance(event, BenchFinished | Failed):
            return results, event


def test_each_case_is_measured_in_its_order(engine: RemoteEngine, small_models: SmallModels) -> None:
    cases = (
        BenchCase(n_prompt=64, n_threads=1),
        BenchCase(n_gen=8, n_threads=1),
        BenchCase(n_gen=8, n_depth=96, n_threads=1),
        BenchCase(n_prompt=32, n_gen=8, n_depth=96, n_threads=1, n_batch=16),
    )
    results, end = measured(engine, small_models(), *cases, repetitions=3)
    assert end == BenchFinished(aborted=False)
    kinds = [result.kind for result in results]
    assert kinds == [BenchKind.PROMPT, BenchKind.GENERATION, BenchKind.GENERATION, BenchKind.BOTH]
    for case, result in zip(cases, results, strict=True):
        assert (result.case.n_prompt, result.case.n_gen, result.case.n_depth) == (
            case.n_prompt,
            case.n_gen,
            case.n_depth,
        )
        assert len(result.samples_ns) == 3 and min(result.samples_ns) > 0
        assert result.device == "CPU" and result.kv_bytes and result.peak_rss_bytes
        assert not result.aborted and result.model.n_params > 0


def test_a_depth_costs_no_measured_time(engine: RemoteEngine, starter_model: Path) -> None:
    cases = [BenchCase(n_gen=2, n_depth=depth, n_threads=1) for depth in (0, 600)]
    (shallow, deep), _end = measured(engine, starter_model, *cases)
    # Reading 600 tokens takes fifty times as long as two replies' tokens.
    assert min(deep.samples_ns) < 8 * min(shallow.samples_ns)


def test_what_does_not_go_together_is_replaced_and_told(
    engine: RemoteEngine, small_models: SmallModels
) -> None:
    case = BenchCase(
        n_gen=4, v_type=KVType.Q8_0, k_type=KVType.Q8_0, flash_attention=FlashAttention.OFF, n_threads=1
    )
    (result,), _end = measured(engine, small_models(), case, repetitions=1)
    assert result.case.v_type is KVType.F16 and len(result.notices) == 1


def test_a_chat_is_measured_from_outside(engine: RemoteEngine, small_models: SmallModels) -> None:
    case = BenchCase(n_prompt=48, n_gen=12, n_depth=40, n_threads=1, is_chat=True)
    (result,), end = measured(engine, small_models(), case)
    assert end == BenchFinished(aborted=False)
    path = result.whole_path
    assert result.kind is BenchKind.CHAT and result.case.n_gen == 12 and result.case.n_prompt >= 40
    assert path.load_ms and path.ttft_ms and path.prompt_ts and path.decode_ts
    assert path.restore_ms is not None and path.reevaluation_ms and path.n_restored == 88
    assert path.eviction_ms is None or path.eviction_ms > 0
    assert path.ttft_ms / 1000 < statistics.median(result.samples_ns) / 1e9  # medians of the same answers


def test_a_run_that_is_ended_keeps_what_was_measured(engine: RemoteEngine, starter_model: Path) -> None:
    cases = (BenchCase(n_gen=4, n_threads=1), BenchCase(n_gen=4000, n_threads=1))
    engine.client.send(Bench(str(starter_model), cases, 2))
    engine.next(BenchResult)
    engine.next(BenchProgress)
    started = time.monotonic()
    engine.client.send(Cancel(0))
    event = engine.next(BenchFinished, Failed)
    assert event == BenchFinished(aborted=True)
    assert time.monotonic() - started < 5


def test_repetitions_before_the_end_are_told_as_aborted(engine: RemoteEngine, starter_model: Path) -> None:
    engine.client.send(Bench(str(starter_model), (BenchCase(n_gen=4, n_threads=1),), 1000))
    while engine.next(BenchProgress).n_done < 4:
        pass
    engine.client.send(Cancel(0))
    result = engine.next(BenchResult)
    assert result.aborted and 3 <= len(result.samples_ns) < 1000
    assert engine.next(BenchFinished).aborted


@pytest.mark.parametrize("is_chat", [False, True])
def test_more_tokens_than_the_model_knows_are_refused(
    engine: RemoteEngine, small_models: SmallModels, is_chat: bool
) -> None:
    case = BenchCase(n_prompt=4000, n_gen=4, n_threads=1, is_chat=is_chat)
    results, end = measured(engine, small_models(n_ctx_train=2048), BenchCase(n_gen=2, n_threads=1), case)
    assert results == []  # nor of the one before
    assert isinstance(end, Failed) and end.error.code is ErrorCode.BAD_REQUEST


def test_a_name_that_is_no_utf_8_is_measured(
    engine: RemoteEngine, small_models: SmallModels, tmp_path: Path
) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/bad\xff.gguf"))
    try:
        path.symlink_to(small_models())
    except OSError:
        pytest.skip("this file system has no such names")
    case = BenchCase(n_prompt=2, n_threads=1, n_batch=1)
    (result,), end = measured(engine, path, case)
    assert end == BenchFinished(aborted=False) and result.model.path == str(path)
    assert result.case.n_ubatch == 1


@pytest.mark.parametrize(("k_type", "n_bytes"), [(KVType.F16, 5_898_240), (KVType.Q8_0, 3_133_440)])
def test_the_caches_bytes_are_exact(
    engine: RemoteEngine, starter_model: Path, k_type: KVType, n_bytes: int
) -> None:
    (result,), _end = measured(engine, starter_model, BenchCase(n_gen=2, n_threads=1, k_type=k_type))
    assert result.kv_bytes == n_bytes  # of 256 cells


def test_a_broken_file_is_refused(engine: RemoteEngine, tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF")
    _results, end = measured(engine, path, BenchCase(n_gen=4))
    assert isinstance(end, Failed) and end.error.code is ErrorCode.MODEL_FILE


# --- the batch ------------------------------------------------------------------------------------


def test_tokens_added_together_are_those_added_one_by_one(starter: Model) -> None:
    rows = []
    for together in (False, True):
        context = Context(starter, ContextParams(256))
        batch = Batch(context.n_batch)
        batch.add(9, 0, 0, True)  # another use of the same places before
        batch.clear()
        ids = [100, 200, 300, 400]
        if together:
            assert batch.extend(ids, 0, 0, output=True) == 3
        else:
            for position, token in enumerate(ids):
                batch.add(token, position, 0, position == 3)
        assert context.decode(batch) == 0 and len(batch) == 4
        rows.append(context.log_probabilities([(3, token) for token in range(50)]))
        batch.close()
        context.close()
    assert rows[0] == rows[1]


def test_a_saved_state_comes_back_as_it_was(starter: Model) -> None:
    context = Context(starter, ContextParams(256))
    batch = Batch(context.n_batch)
    batch.extend([1, 2, 3], 0, 0, output=True)
    context.decode(batch)
    cells = context.save(0)
    context.remove(0, -1, -1)
    assert isinstance(cells, bytes) and context.restore(0, cells)
    assert context.position_range(0) == (0, 2)
    batch.close()
    context.close()
