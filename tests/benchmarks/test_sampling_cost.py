"""What choosing a token costs at a vocabulary of 150,000, as a part of the decode before it."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import psutil
import pytest

from engine.protocol import Sampling
from tests import model_files
from tests.benchmarks import sampling_loop

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(300)]

N_VOCAB = 151_936
# The smallest model in use with such a vocabulary: 0.6 billion weights in 4 bits. One pass reads them once,
# at the rate at which the starter model's are read in the same run.
N_BYTES_READ = 400e6
SAMPLINGS = {
    "default": Sampling(seed=1),
    "greedy": Sampling(temperature=0.0),
    "default, penalty": Sampling(seed=1, repeat_penalty=1.1),
    "greedy, penalty": Sampling(temperature=0.0, repeat_penalty=1.1),
}


def test_choosing_a_token_costs_under_three_percent_of_a_decode(starter_model: Path, tmp_path: Path) -> None:
    large = tmp_path / "large-vocabulary.gguf"
    model_files.write_plain_vocabulary(large, n_vocab=N_VOCAB)
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    n_threads = psutil.cpu_count(logical=False) or 1
    arguments = (theirs, str(large), str(starter_model), list(SAMPLINGS.values()), n_threads)
    process = spawn.Process(target=sampling_loop.serve, args=arguments, daemon=True)
    process.start()
    sampled, seconds_to_decode, n_bytes = ours.recv()
    process.join()
    decode = seconds_to_decode * N_BYTES_READ / n_bytes
    parts = {name: seconds / decode for name, seconds in zip(SAMPLINGS, sampled, strict=True)}
    print(f"\na decode of {N_BYTES_READ / 1e6:.0f} MB: {decode * 1000:.1f} ms")
    for name, seconds in zip(SAMPLINGS, sampled, strict=True):
        print(f"{name}: {seconds * 1000:.2f} ms, {parts[name]:.2%}")
    assert max(parts.values()) < 0.03
