"""How long a token takes at several depths: one model, one context, in a process of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

N_FEWEST = 8  # cells before the first measured token


def serve(connection: Connection, path: str, kv_type: str, depths: Sequence[int], n_threads: int) -> None:
    """For each number received, decode so many tokens at each depth; answers their seconds, by depth."""
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    from engine.llama.backend import Backend
    from engine.llama.context import Context, ContextParams
    from engine.llama.model import Model
    from engine.protocol import KVType

    n_ctx = max(depths) + 512
    model = Model(Backend(), Path(path), 0)
    contexts = []
    for depth in depths:  # one each: a cache that is cut back is not as one that was never longer
        params = ContextParams(n_ctx, n_threads=n_threads, kv_type=KVType(kv_type))
        context = Context(model, params)
        contexts.append((context, _fill(context, max(depth, N_FEWEST))))
    connection.send("ready")
    while n_tokens := connection.recv():
        connection.send([_times(context, n_cells, n_tokens) for context, n_cells in contexts])


def _fill(context: object, n_cells: int) -> int:
    from engine.llama.context import Batch, Context

    assert isinstance(context, Context)
    batch = Batch(512)
    for start in range(0, n_cells, 512):
        batch.clear()
        for position in range(start, min(start + 512, n_cells)):
            batch.add(1000 + position % 2000, position, 0, position == n_cells - 1)
        assert context.decode(batch) == 0
    batch.close()
    return n_cells


def _times(context: object, n_cells: int, n_tokens: int) -> list[float]:
    from engine.llama.context import Batch, Context

    assert isinstance(context, Context)
    batch, times = Batch(1), []
    for position in range(n_cells, n_cells + n_tokens):
        batch.clear()
        batch.add(1000 + position % 2000, position, 0, True)
        start = time.perf_counter()
        assert context.decode(batch) == 0
        times.append(time.perf_counter() - start)
    batch.close()
    assert context.remove(0, n_cells)
    return times
