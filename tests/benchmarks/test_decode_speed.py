"""What the whole path costs: worker, scheduler, protocol and client against a bare loop, in one run."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from engine.protocol import Finished, LoadModel, ModelLoaded, TextDelta
from tests.benchmarks import bare_loop
from tests.native.harness import RemoteEngine, remote_engine, user

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(550)]

N_CTX, N_TOKENS, ROUNDS = 1024, 200, 9
N_THREADS = psutil.cpu_count(logical=False) or 1
# The same number of tokens as the bare loop's prompt and reply, so that both decode at one depth.
PROMPT = [user("Tell me about rivers, and why they bend in valleys, in your own words, please.")]


@pytest.fixture
def bare(starter_model: Path) -> Iterator[Callable[[], float]]:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    arguments = (theirs, str(starter_model), N_CTX, N_THREADS, N_TOKENS)
    process = spawn.Process(target=bare_loop.serve, args=arguments)
    process.start()
    assert ours.recv() == "ready"

    def measure() -> float:
        ours.send(True)
        speed: float = ours.recv()
        return speed

    yield measure
    ours.send(False)
    process.join()


@pytest.fixture
def whole(starter_model: Path) -> Iterator[Callable[[], float]]:
    with remote_engine() as engine:
        engine.client.send(LoadModel(str(starter_model), n_ctx=N_CTX, n_threads=N_THREADS))
        engine.next(ModelLoaded)
        yield lambda: _whole_path(engine)


def _whole_path(engine: RemoteEngine) -> float:
    """Tokens a second as the receiver of the events sees them."""
    engine.generate(PROMPT, max_tokens=N_TOKENS + 1, ignore_eos=True)
    first = engine.next(TextDelta)
    started = time.perf_counter()
    finished = engine.next(Finished)
    seconds = time.perf_counter() - started
    return (finished.stats.tokens_generated - first.n_generated) / seconds


def test_decode_through_the_whole_path(bare: Callable[[], float], whole: Callable[[], float]) -> None:
    bare(), whole()  # warm up
    pairs = [(bare(), whole()) for _ in range(ROUNDS)]
    ratios = [path / loop for loop, path in pairs]
    ratio = statistics.median(ratios)
    print(
        f"\nbare loop {statistics.median(loop for loop, _ in pairs):.1f} tokens/s, "
        f"whole path {statistics.median(path for _, path in pairs):.1f}: "
        f"ratio {ratio:.3f} (median of {ROUNDS}; {min(ratios):.3f} to {max(ratios):.3f})"
    )
    assert ratio >= 0.93
