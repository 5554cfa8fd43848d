"""The predicted speed of decoding against the measured one, calibrated at one depth or by another model.

The depths take turns, and the models too, so that what disturbs the machine meets all of them.
"""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from engine.memory.bandwidth import with_bandwidth
from engine.memory.calibration import CalibrationStore, uncalibrated_speed
from engine.memory.hardware import Device, read_hardware
from engine.memory.kernel_speed import best_of
from engine.memory.memory_wall import seconds_of
from engine.memory.token_work import TokenWork, works
from engine.models.model_facts import ModelFacts, read_facts
from engine.processor_speed import measure_kernels, measure_processor
from engine.protocol import KVType
from tests.benchmarks import depth_speed
from tests.benchmarks.large_model import write_large_model
from tests.model_files import TokenizerFields

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(550)]

DEPTHS = (0, 1024, 2048, 4096)
FEW_DEPTHS = (0, 1024)
ROUNDS, N_TOKENS = 20, 3
WITHIN = 0.15


@pytest.fixture(scope="module")
def processor() -> Device:
    """Measured as often as the window does, or the first disturbance would stay in all that is expected."""
    hardware = read_hardware(())
    measured = measure_processor(hardware)
    assert measured is not None and measured.kernels is not None
    for _ in range(2):
        again = measure_kernels(hardware.n_physical_cores)
        assert again is not None
        measured = replace(measured, kernels=best_of(measured.kernels, again))
    return with_bandwidth(hardware, measured).devices[0]


class _Decoder:
    """A process that decodes at several depths; used in turns with others."""

    def __init__(self, path: Path, kv_type: KVType, depths: tuple[int, ...]) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        arguments = (theirs, str(path), kv_type.value, depths, read_hardware(()).n_physical_cores)
        self._process = spawn.Process(target=depth_speed.serve, args=arguments)
        self._process.start()
        theirs.close()
        assert self._pipe.recv() == "ready"

    def measure(self) -> list[float]:
        """Seconds of a token at each depth: the first one pays for what the others did."""
        self._pipe.send(N_TOKENS)
        return [min(times[1:]) for times in self._pipe.recv()]

    def close(self) -> None:
        self._pipe.send(0)
        self._process.join()


def _quickest(decoders: list[_Decoder]) -> list[list[float]]:
    """Of each decoder, seconds at each depth in the quickest of the rounds."""
    rounds = [[decoder.measure() for decoder in decoders] for _ in range(ROUNDS)]
    for decoder in decoders:
        decoder.close()
    return [[min(times) for times in zip(*of_one, strict=True)] for of_one in zip(*rounds, strict=True)]


@pytest.mark.parametrize("kv_type", [KVType.F16, KVType.Q8_0])
def test_speed_at_one_depth_tells_that_at_others(
    processor: Device, kv_type: KVType, starter_model: Path, tmp_path: Path
) -> None:
    [seconds] = _quickest([_Decoder(starter_model, kv_type, DEPTHS)])
    facts = read_facts(starter_model)
    todo = [_work(facts, processor, depth + 2, kv_type) for depth in DEPTHS]
    before = uncalibrated_speed(processor)
    assert before is not None
    print(f"\n{kv_type}:")
    for depth, work, took in zip(DEPTHS, todo, seconds, strict=True):
        print(f"{depth:>5,}: {1 / took:.1f} tokens/s, uncalibrated {1 / seconds_of(work, before):.1f}")
    worst = 0.0
    for calibrated_at, own_work in enumerate(todo):
        store = CalibrationStore(tmp_path / f"{calibrated_at}.json")
        store.add(processor, facts.quantization, own_work, seconds[calibrated_at])
        errors = _errors(store, processor, facts, todo, seconds)
        worst = max(worst, *map(abs, errors))
        print(f"calibrated at {DEPTHS[calibrated_at]:>5,}: " + ", ".join(f"{e:+.1%}" for e in errors))
    assert worst < WITHIN


def test_speed_of_one_model_tells_that_of_another(
    processor: Device, starter_model: Path, tokenizer_fields: TokenizerFields, tmp_path: Path
) -> None:
    paths = [starter_model, write_large_model(tmp_path / "large.gguf", tokenizer_fields)]
    seconds = _quickest([_Decoder(path, KVType.F16, FEW_DEPTHS) for path in paths])
    models = [read_facts(path) for path in paths]
    todo = [[_work(facts, processor, depth + 2, KVType.F16) for depth in FEW_DEPTHS] for facts in models]
    worst = 0.0
    for known, other in ((0, 1), (1, 0)):
        for depth, work, took in zip(FEW_DEPTHS, todo[known], seconds[known], strict=True):
            store = CalibrationStore(tmp_path / f"{known}-{depth}.json")
            store.add(processor, models[known].quantization, work, took)
            errors = _errors(store, processor, models[other], todo[other], seconds[other])
            worst = max(worst, *map(abs, errors))
            print(
                f"\n{models[other].name or 'large'} by {models[known].name or 'large'} at {depth:,}: "
                + ", ".join(f"{error:+.1%}" for error in errors),
                end="",
            )
    assert worst < WITHIN


def _errors(
    store: CalibrationStore, device: Device, facts: ModelFacts, todo: list[TokenWork], seconds: list[float]
) -> list[float]:
    speed = store.speed(device, facts.quantization)
    assert speed is not None
    return [seconds_of(work, speed) / took - 1 for work, took in zip(todo, seconds, strict=True)]


def _work(facts: ModelFacts, device: Device, n_cells: int, kv_type: KVType) -> TokenWork:
    """As Weir decodes on a processor."""
    places = [device.name] * (facts.n_layers + 1)
    is_flash = kv_type is not KVType.F16
    return works(facts, places, n_cells, kv_type, flash_attention=is_flash)[device.name]
