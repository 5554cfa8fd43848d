"""What choosing a token costs at a large vocabulary, and what decoding one costs, in a process of its own."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from engine.protocol import Sampling

N_STEPS = 100


def serve(
    connection: Connection, large_vocabulary: str, decoding: str, samplings: list[Sampling], n_threads: int
) -> None:
    """Sends the usual seconds of a draw with each sampling, the least of a decode, and the bytes it reads."""
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # as in the worker
    from engine.llama.backend import Backend
    from engine.llama.batch import Batch
    from engine.llama.context import Context, ContextParams
    from engine.llama.model import Model
    from engine.llama.sampler import Sampler

    backend = Backend()

    def prepared(path: str) -> tuple[Model, Context, Callable[[int], None]]:
        model = Model(backend, Path(path), 0)
        context, batch = Context(model, ContextParams(N_STEPS + 1, n_threads=n_threads)), Batch(1)

        def decode(position: int) -> None:
            batch.clear()
            batch.add(100, position, 0, output=True)
            assert context.decode(batch) == 0

        decode(0)
        return model, context, decode

    def seconds_of(step: Callable[[int], object]) -> list[float]:
        times = []
        for number in range(1, N_STEPS + 1):
            started = time.perf_counter()
            step(number)
            times.append(time.perf_counter() - started)
        return times

    def seconds_to_sample(model: Model, context: Context, sampling: Sampling) -> float:
        sampler = Sampler(sampling, model.n_vocab, banned=range(4))
        sampler.accept(range(sampling.repeat_last_n))
        return statistics.median(seconds_of(lambda _number: sampler.sample(context, 0)))

    model, context, _decode = prepared(large_vocabulary)
    sampled = [seconds_to_sample(model, context, sampling) for sampling in samplings]
    model, _context, decode = prepared(decoding)
    connection.send((sampled, min(seconds_of(decode)), model.size_bytes))
