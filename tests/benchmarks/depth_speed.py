"""How long a token takes at several depths: one model, one context, in a process of its own.

The options are those that Weir chooses on a processor.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

N_FEWEST = 8  # cells before the first measured token
N_BLOCK = 256  # of which larger depths are multiples


def serve(connection: Connection, path: str, kv_type: str, depths: Sequence[int], n_threads: int) -> None:
    """For each number received, decode so many tokens at each depth; answers their seconds, by depth."""
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    from engine.llama.backend import Backend
    from engine.llama.context import Context, ContextParams
    from engine.llama.model import Model
    from engine.protocol import FlashAttention, KVType

    params = ContextParams(
        max(depths) + 512,
        2,
        n_threads=n_threads,
        kv_type=KVType(kv_type),
        flash_attention=FlashAttention.OFF if kv_type == KVType.F16 else FlashAttention.AUTO,
    )
    model = Model(Backend(), Path(path), 0)
    contexts = []
    for depth in depths:  # one each: a cache that is cut back is not as one that was never longer
        context = Context(model, params)
        _fill(context, max(depth, N_FEWEST))
        contexts.append((context, max(depth, N_FEWEST)))
    connection.send("ready")
    while n_tokens := connection.recv():
        connection.send([_times(context, n_cells, n_tokens) for context, n_cells in contexts])


def _fill(context: object, n_cells: int) -> None:
    """Read one block, and put copies of it behind: what stands in a cell does not matter for the time."""
    from engine.llama.batch import Batch
    from engine.llama.context import Context

    assert isinstance(context, Context)
    n_block = min(n_cells, N_BLOCK)
    batch = Batch(n_block)
    batch.extend([1000 + position for position in range(n_block)], 0, 0, True)
    assert context.decode(batch) == 0
    batch.close()
    block = context.save(0)
    for start in range(n_block, n_cells, n_block):
        assert context.restore(1, block)
        context.shift(1, 0, -1, start)
        context.copy(1, 0)
        assert context.remove(1, 0)
    assert context.position_range(0) == (0, n_cells - 1)


def _times(context: object, n_cells: int, n_tokens: int) -> list[float]:
    from engine.llama.batch import Batch
    from engine.llama.context import Context

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
