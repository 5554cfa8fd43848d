"""The chosen number of threads against fixed ones, alternating: alone, and beside a busy program."""

from __future__ import annotations

import multiprocessing
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.benchmarks import thread_loop

N_CORES = psutil.cpu_count(logical=False) or 1
N_TOKENS, ROUNDS, CHOSEN = 150, 7, 0

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.timeout(550),
    pytest.mark.skipif(N_CORES < 2, reason="needs two cores"),
]

Speeds = dict[int, float]
Measure = Callable[[], Speeds]


@pytest.fixture
def measure(starter_model: Path) -> Iterator[Measure]:
    """Median tokens a second with the chosen number (0) and with all cores, one less and one."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(
        target=thread_loop.serve, args=(theirs, str(starter_model), N_CORES, N_TOKENS), daemon=True
    )
    process.start()
    assert ours.recv() == "ready"

    def speed(n_threads: int) -> float:
        ours.send(n_threads)
        tokens_per_second, n_at_end = ours.recv()
        print(f"{n_threads or f'chosen {n_at_end}'}: {tokens_per_second:.1f}", end="  ")
        return float(tokens_per_second)

    def alternate() -> Speeds:
        numbers = sorted({CHOSEN, N_CORES, N_CORES - 1, 1})
        speed(CHOSEN)  # finds its number
        rounds = [{n_threads: speed(n_threads) for n_threads in numbers} for _ in range(ROUNDS)]
        medians = {n: statistics.median(speeds[n] for speeds in rounds) for n in numbers}
        print("\nmedians: " + ", ".join(f"{n or 'chosen'} {speed:.1f}" for n, speed in medians.items()))
        return medians

    yield alternate
    ours.send(None)
    process.join()


@pytest.fixture
def busy_program() -> Iterator[None]:
    program = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield
    program.kill()
    program.wait()


def test_alone_the_choice_costs_next_to_nothing(measure: Measure) -> None:
    speeds = measure()
    best = max(speed for n_threads, speed in speeds.items() if n_threads != CHOSEN)
    print(f"chosen over the best fixed: {speeds[CHOSEN] / best:.3f}")
    assert speeds[CHOSEN] >= 0.98 * best


@pytest.mark.usefixtures("busy_program")
def test_beside_a_busy_program_the_choice_is_twice_as_fast_as_all_cores(measure: Measure) -> None:
    speeds = measure()
    print(f"chosen over {N_CORES} threads: {speeds[CHOSEN] / speeds[N_CORES]:.2f}")
    assert speeds[CHOSEN] >= 2.0 * speeds[N_CORES]
