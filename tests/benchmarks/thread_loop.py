"""Decoding with a fixed number of threads or with the chosen one, in a process of its own."""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path

N_PROMPT = 64


def serve(connection: Connection, path: str, n_threads_most: int, n_tokens: int) -> None:
    """For each number received, decode `n_tokens` with so many threads, 0 for the chosen number.

    Answers tokens a second and the number of threads at the end. None ends it.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # as in the worker
    from engine.decoding.thread_choice import ThreadChoice
    from engine.llama.backend import Backend
    from engine.llama.batch import Batch
    from engine.llama.context import Context, ContextParams
    from engine.llama.model import Model

    model = Model(Backend(), Path(path), 0)
    context = Context(model, ContextParams(N_PROMPT + n_tokens, n_threads=n_threads_most))
    batch, choice = Batch(context.n_batch), ThreadChoice(n_threads_most)

    def decode(n_threads: int) -> float:
        context.set_threads(n_threads)
        started = time.perf_counter()
        assert context.decode(batch) == 0
        return time.perf_counter() - started

    def read_prompt() -> None:
        context.remove(0, -1)
        batch.clear()
        batch.extend(range(1000, 1000 + N_PROMPT), 0, 0, output=True)
        choice.measured(0, N_PROMPT, decode(choice.before_decode(0, N_PROMPT)))

    connection.send("ready")
    while (fixed := connection.recv()) is not None:
        read_prompt()
        started = time.perf_counter()
        for position in range(N_PROMPT, N_PROMPT + n_tokens):
            batch.clear()
            batch.add(1000, position, 0, output=True)
            if fixed:
                decode(fixed)
            else:
                choice.measured(1, 0, decode(choice.before_decode(1, 0)))
        connection.send((n_tokens / (time.perf_counter() - started), context.n_threads))
