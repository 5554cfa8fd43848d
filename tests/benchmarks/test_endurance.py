"""Endless chat's promises, measured: quality against reading again, level memory, and the cost of a token.

WEIR_ENDURE_SHARE shrinks the runs (0.05 is a twentieth of the tokens), to see that they work; what they then
show is no measurement.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest

from engine.llama.batch import Batch
from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.measure.source_text import source_text
from engine.measure.token_stream import StreamPolicy, TokenStream
from engine.protocol import EnduranceReport, EnduranceRun, KVType, Shift
from tests.native.harness import endured, loaded

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(7200)]

SHARE = float(os.environ.get("WEIR_ENDURE_SHARE", "1"))
WINDOW, N_SINKS, SLICE = 1024, 4, 64
N_THREADS = psutil.cpu_count(logical=False) or 1


def second_half(report: EnduranceReport) -> float:
    assert report.perplexity_second_half is not None
    return report.perplexity_second_half


def test_sinks_keep_the_perplexity_over_20_000_tokens(starter_model: Path) -> None:
    runs = {
        "exact": (EnduranceRun.EXACT, Shift.LAZY),
        "endless, lazy shift": (EnduranceRun.ENDLESS, Shift.LAZY),
        "endless, eager shift": (EnduranceRun.ENDLESS, Shift.EAGER),
        "window": (EnduranceRun.WINDOW, Shift.LAZY),
    }
    reports: dict[str, EnduranceReport] = {}
    print()
    for name, (run, shift) in runs.items():
        report = endured(
            starter_model,
            n_ctx=WINDOW,
            n_tokens=round(20_000 * SHARE),
            n_threads=N_THREADS,
            run=run,
            shift=shift,
        )
        reports[name] = report
        ratio = second_half(report) / second_half(reports["exact"])
        print(
            f"{name}: perplexity of the second half {second_half(report):.3f} ({ratio:.4f} of exact's), "
            f"{report.tps:.1f} tokens/s, {report.evictions} evictions, {report.shifts} shifts, "
            f"peak {report.peak_rss_bytes / 1e6:.0f} MB"
        )
    exact = second_half(reports["exact"])
    assert second_half(reports["endless, lazy shift"]) <= 1.02 * exact
    assert second_half(reports["endless, eager shift"]) <= 1.02 * exact
    assert second_half(reports["window"]) >= 1.3 * exact


def test_memory_keeps_its_level_over_50_000_tokens(starter_model: Path) -> None:
    n_tokens = max(2_500, round(50_000 * SHARE))
    report = endured(starter_model, n_ctx=WINDOW, n_tokens=n_tokens, n_threads=N_THREADS)
    assert report.rss_growth_bytes is not None
    print(
        f"\n{report.n_tokens:,} tokens: peak {report.peak_rss_bytes / 1e6:.0f} MB, "
        f"grown by {report.rss_growth_bytes / 1e6:.2f} MB after the first 2,000"
    )
    assert report.n_tokens == n_tokens
    assert report.rss_growth_bytes <= 8e6


@dataclass(frozen=True, slots=True)
class Steady:
    """A full window read token by token: seconds of a token, and of reading the whole window afresh."""

    token_seconds: float
    window_seconds: float
    shift_seconds: float | None
    evictions: int


def steady(model: Model, kv_type: KVType, shift: Shift, n_tokens: int) -> Steady:
    """Measure `n_tokens` tokens after the window is full."""
    ids = model.tokenize(source_text(None, WINDOW + n_tokens), parse_special=False)[: WINDOW + n_tokens]
    params = ContextParams(WINDOW, n_threads=N_THREADS, kv_type=kv_type, n_outputs_max=SLICE)
    context = Context(model, params)
    afresh = [read_window(context, ids[:WINDOW]) for _ in range(3)]
    policy = StreamPolicy(EnduranceRun.ENDLESS, shift, WINDOW, N_SINKS, model.n_ctx_train, SLICE)
    stream = TokenStream(context, policy, ids)
    while stream.n_done < WINDOW:
        stream.step()
    stream.policy = replace(policy, slice_size=1)
    filled = stream.seconds
    while stream.n_done < len(ids):
        stream.step()
    token_seconds = (stream.seconds - filled) / n_tokens
    stream.close()
    context.remove(0, -1, -1)
    afresh += [read_window(context, ids[-WINDOW:]) for _ in range(3)]
    context.close()
    return Steady(token_seconds, statistics.median(afresh), stream.shift_seconds, stream.evictions)


def read_window(context: Context, ids: list[int]) -> float:
    """Seconds to evaluate `ids` in an empty cache, with the logits of the last one."""
    batch = Batch(context.n_batch)
    started = time.perf_counter()
    for start in range(0, len(ids), context.n_batch):
        batch.clear()
        for offset in range(start, min(start + context.n_batch, len(ids))):
            batch.add(ids[offset], offset, 0, offset == len(ids) - 1)
        assert context.decode(batch) == 0
    seconds = time.perf_counter() - started
    batch.close()
    context.remove(0, -1, -1)
    return seconds


@pytest.mark.parametrize("shift", Shift)
def test_a_token_costs_a_fraction_of_reading_the_window_again(starter_model: Path, shift: Shift) -> None:
    with loaded(starter_model) as model:
        found = steady(model, KVType.F16, shift, max(100, round(800 * SHARE)))
    ratio = found.window_seconds / found.token_seconds
    print(
        f"\n{shift.value} shift: {found.token_seconds * 1000:.2f} ms a token, {found.evictions} evictions, "
        f"{found.window_seconds * 1000:.0f} ms to read {WINDOW:,} tokens again: {ratio:.0f} times faster"
    )
    assert found.evictions >= 1
    assert ratio >= 22.2


@pytest.mark.parametrize("kv_type", KVType)
def test_what_a_shift_costs(starter_model: Path, kv_type: KVType) -> None:
    with loaded(starter_model) as model:
        found = steady(model, kv_type, Shift.EAGER, max(100, round(1600 * SHARE)))
    assert found.shift_seconds is not None
    print(
        f"\n{kv_type.value}: a token {found.token_seconds * 1000:.2f} ms, "
        f"a shift {found.shift_seconds * 1000:.2f} ms more ({found.evictions} shifts)"
    )
