"""Endurance on real models: what the runs measure is right, and the refusals are clear."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.llama.batch import Batch
from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.llama.sampler import Sampler
from engine.measure.source_text import source_text
from engine.protocol import (
    Cancel,
    EnduranceProgress,
    EnduranceReport,
    EnduranceRun,
    Endure,
    ErrorCode,
    Shift,
)
from tests.conftest import SmallModels
from tests.native.harness import GREEDY, RemoteEngine, endured, loaded, refusal

N_CTX = 256


@pytest.fixture(scope="module")
def counted(small_models: SmallModels) -> Mapping[str, EnduranceReport]:
    """One report for each run over the same text, of a model that was trained for 512 tokens."""
    path = small_models(n_ctx_train=512)
    return {name: endured(path, n_tokens=1100, run=run, shift=shift) for name, (run, shift) in RUNS.items()}


RUNS = {
    "lazy": (EnduranceRun.ENDLESS, Shift.LAZY),
    "eager": (EnduranceRun.ENDLESS, Shift.EAGER),
    "exact": (EnduranceRun.EXACT, Shift.LAZY),
    "window": (EnduranceRun.WINDOW, Shift.LAZY),
}


def test_evictions_and_shifts_are_counted(counted: Mapping[str, EnduranceReport]) -> None:
    for report in counted.values():
        # Each eviction frees a quarter of the window beside the sinks.
        assert report.evictions == pytest.approx((1100 - N_CTX) / 63, abs=2)
    assert counted["eager"].shifts == counted["eager"].evictions
    assert counted["eager"].shift_ms is not None
    # Positions run from 256 up to 512 before they move.
    assert 1 <= counted["lazy"].shifts <= counted["lazy"].evictions / 3
    assert (counted["exact"].shifts, counted["exact"].shift_ms) == (0, None)


def test_the_report_says_what_was_measured(counted: Mapping[str, EnduranceReport]) -> None:
    for report in counted.values():
        assert (report.window, report.kv_type, report.n_tokens) == (N_CTX, "f16", 1100)
        assert len(report.perplexity) == 1 and report.model.endswith(".gguf")
        assert report.tps and report.tps > 5 and report.peak_rss_bytes > 20e6
        assert report.rss_growth_bytes is None
    assert [counted[name].sinks for name in RUNS] == [4, 4, 4, 0]
    assert [counted[name].policy for name in RUNS] == ["endless", "endless", "exact", "window"]


def test_sinks_keep_the_perplexity_and_a_bare_window_loses_it(starter_model: Path) -> None:
    reports = {run: endured(starter_model, n_tokens=360, run=run) for run in EnduranceRun}
    exact = second_half(reports[EnduranceRun.EXACT])
    assert 5 < exact < 40
    assert second_half(reports[EnduranceRun.ENDLESS]) < 1.1 * exact
    assert second_half(reports[EnduranceRun.WINDOW]) > 1.3 * exact
    assert reports[EnduranceRun.ENDLESS].shifts == 0  # the model was trained for 8,192 tokens


def second_half(report: EnduranceReport) -> float:
    assert report.perplexity_second_half is not None
    return report.perplexity_second_half


def test_without_eviction_it_is_the_plain_evaluation(small_models: SmallModels) -> None:
    path = small_models()
    report = endured(path, n_ctx=1024, n_tokens=1000)
    assert report.evictions == 0
    with loaded(path) as model:
        ids = model.tokenize(source_text(None, 1000), parse_special=False)[:1000]
        assert report.perplexity[0] == pytest.approx(plain_perplexity(model, ids), rel=1e-4)


def plain_perplexity(model: Model, ids: list[int]) -> float:
    context, batch, total = Context(model, ContextParams(1024, n_outputs_max=100)), Batch(100), 0.0
    for start in range(0, len(ids), 100):
        batch.clear()
        part = ids[start : start + 100]
        indexes = [batch.add(token, start + index, 0, True) for index, token in enumerate(part)]
        assert context.decode(batch) == 0
        following = ids[start + 1 : start + 101]
        total += sum(context.log_probabilities(list(zip(indexes, following, strict=False))))
    batch.close()
    context.close()
    return math.exp(-total / (len(ids) - 1))


@pytest.fixture
def tiny(no_byte_tokens_model: Path) -> Iterator[tuple[Model, Context]]:
    """A model with 300 tokens, and its context."""
    with loaded(no_byte_tokens_model) as model:
        context = Context(model, ContextParams(128, n_outputs_max=2))
        yield model, context
        context.close()


def test_log_probabilities_are_those_of_the_whole_vocabulary(tiny: tuple[Model, Context]) -> None:
    model, context = tiny
    batch, sampler = Batch(3), Sampler(GREEDY, model.n_vocab)
    for position, token in enumerate((5, 250, 17)):
        batch.add(token, position, 0, position > 0)
    assert context.decode(batch) == 0
    for index in (1, 2):
        of_all = context.log_probabilities([(index, token) for token in range(model.n_vocab)])
        assert sum(map(math.exp, of_all)) == pytest.approx(1, rel=1e-5)
        assert of_all.index(max(of_all)) == sampler.sample(context, index)
    sampler.close()
    batch.close()


# --- the end of a text and of a run ---------------------------------------------------------------


def test_a_short_text_is_read_to_its_end_and_told(
    engine: RemoteEngine, small_models: SmallModels, tmp_path: Path
) -> None:
    text = tmp_path / "short.txt"
    text.write_text("The weir holds the river at its level, and the river runs on. " * 20)
    engine.client.send(Endure(str(small_models()), N_CTX, 5000, text_path=str(text), n_threads=1))
    n_total = engine.next(EnduranceProgress).n_total
    report = engine.next(EnduranceReport)
    assert report.n_tokens == n_total and 250 < n_total < 400
    assert report.evictions > 0


def test_a_text_that_begins_with_bos_keeps_it(small_models: SmallModels) -> None:
    path = small_models(add_bos=True)
    assert endured(path, n_sinks=0).sinks == 1
    assert endured(path, n_sinks=0, run=EnduranceRun.WINDOW).sinks == 0


def test_cancel_ends_the_run_with_what_was_measured(engine: RemoteEngine, starter_model: Path) -> None:
    engine.client.send(Endure(str(starter_model), 512, 20_000, n_threads=1))
    while not engine.next(EnduranceProgress).n_done:
        pass
    asked = time.monotonic()
    engine.client.send(Cancel(0))
    report = engine.next(EnduranceReport)
    assert time.monotonic() - asked < 5
    assert 0 < report.n_tokens < 10_000 and report.perplexity_second_half


def test_close_ends_the_worker_in_the_middle_of_a_run(engine: RemoteEngine, starter_model: Path) -> None:
    engine.client.send(Endure(str(starter_model), 512, 20_000, n_threads=1))
    engine.next(EnduranceProgress)
    asked = time.monotonic()
    engine.client.close()
    assert time.monotonic() - asked < 3


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [EnduranceRun.ENDLESS, EnduranceRun.WINDOW])
def test_a_recurrent_model_is_refused_with_what_it_can_do(mamba_model: Path, run: EnduranceRun) -> None:
    error = refusal(mamba_model, run=run).error
    message = error.message
    assert (
        error.code is ErrorCode.BAD_REQUEST and mamba_model.name in message and "the policy exact" in message
    )


def test_a_recurrent_model_reads_again(mamba_model: Path) -> None:
    report = endured(mamba_model, n_ctx=128, n_tokens=300, run=EnduranceRun.EXACT)
    assert report.evictions > 4 and report.n_tokens == 300


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"n_sinks": -1}, "between 0 and 128"),
        ({"n_sinks": 129}, "between 0 and 128"),
        ({"n_sinks": 2**31 - 1}, "between 0 and 128"),
        ({"n_ctx": 1}, "at least 16"),
        ({"n_ctx": 4096}, "2,048"),
        ({"n_ctx": 2**31 - 1}, "2,048"),
        ({"n_tokens": 0}, "between 1 and"),
        ({"text_path": "/nowhere/text"}, "cannot be read"),
    ],
)
def test_values_that_make_no_sense_are_refused(
    small_models: SmallModels, values: dict[str, Any], says: str
) -> None:
    error = refusal(small_models(), **values).error
    assert error.code is ErrorCode.BAD_REQUEST and says in error.message


def test_a_window_that_llama_cpp_would_round_up_is_kept_as_asked(small_models: SmallModels) -> None:
    report = endured(small_models(), n_ctx=100, n_tokens=400, n_sinks=50)
    assert (report.window, report.sinks) == (100, 50)
    assert report.evictions > 15  # at 256 cells there would be three
