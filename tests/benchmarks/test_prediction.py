"""The predicted speed of decoding against the measured one, calibrated at one depth alone.

The depths take turns, so that what disturbs the machine meets all of them.
"""

from __future__ import annotations

import multiprocessing
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.memory.bandwidth import with_bandwidth
from engine.memory.calibration import CalibrationStore, uncalibrated_speed
from engine.memory.hardware import Device, read_hardware
from engine.memory.memory_wall import seconds_of
from engine.memory.token_work import TokenWork, works
from engine.models.model_facts import ModelFacts, read_facts
from engine.processor_speed import measure_processor
from engine.protocol import KVType
from tests.benchmarks import depth_speed

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(550)]

DEPTHS = (0, 1024, 2048, 4096)
ROUNDS, N_TOKENS = 20, 4
WITHIN = 0.15


@pytest.fixture(scope="module")
def processor() -> Device:
    hardware = read_hardware(())
    return with_bandwidth(hardware, measure_processor(hardware)).devices[0]


@pytest.fixture(params=[KVType.F16, KVType.Q8_0])
def measured(request: pytest.FixtureRequest, starter_model: Path) -> Iterator[tuple[KVType, list[float]]]:
    """Seconds of a token at each of the depths: the median of a few tokens, of the quickest round."""
    n_threads = read_hardware(()).n_physical_cores
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    arguments = (theirs, str(starter_model), request.param.value, DEPTHS, n_threads)
    process = spawn.Process(target=depth_speed.serve, args=arguments)
    process.start()
    assert ours.recv() == "ready"
    rounds = []
    for _ in range(ROUNDS):
        ours.send(N_TOKENS)
        rounds.append([statistics.median(times[1:]) for times in ours.recv()])
    ours.send(0)
    process.join()
    yield request.param, [min(times) for times in zip(*rounds, strict=True)]


def test_speed_at_one_depth_tells_that_at_others(
    processor: Device, measured: tuple[KVType, list[float]], starter_model: Path, tmp_path: Path
) -> None:
    kv_type, seconds = measured
    facts = read_facts(starter_model)
    todo = [_work(facts, processor, depth + 4, kv_type) for depth in DEPTHS]
    before = uncalibrated_speed(processor)
    assert before is not None
    print(f"\n{kv_type}:")
    worst = 0.0
    for calibrated_at, own_work in enumerate(todo):
        store = CalibrationStore(tmp_path / f"{calibrated_at}.json")
        store.add(processor, facts.quantization, own_work, seconds[calibrated_at])
        speed = store.speed(processor, facts.quantization)
        assert speed is not None
        errors = [seconds_of(work, speed) / took - 1 for work, took in zip(todo, seconds, strict=True)]
        worst = max(worst, *map(abs, errors))
        print(f"calibrated at {DEPTHS[calibrated_at]:>5,}: " + ", ".join(f"{e:+.1%}" for e in errors))
    for depth, work, took in zip(DEPTHS, todo, seconds, strict=True):
        print(f"{depth:>5,}: {1 / took:.1f} tokens/s, uncalibrated {1 / seconds_of(work, before):.1f}")
    assert worst < WITHIN


def _work(facts: ModelFacts, device: Device, n_cells: int, kv_type: KVType) -> TokenWork:
    return works(facts, [device.name] * (facts.n_layers + 1), n_cells, kv_type)[device.name]
