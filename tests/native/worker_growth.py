"""How much a worker's process grows by a model: resident memory before it loads, and after it read a prompt.

A worker that has loaded nothing and wishes go in, bytes come out. A context is full, and its buffers are
touched, only once so many words were read; llama.cpp touches what it allocates when it first needs it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.memory.memory_plan import Wishes
from engine.protocol import ModelInfo
from tests.native.harness import RemoteEngine, user

# The cells are one pool; with the short chat these are the four sequences that share it.
_PARTS = 3


@dataclass(frozen=True)
class Growth:
    """Bytes; `rss_file` of them are pages of files, where the system says so."""

    rss: int
    rss_file: int
    info: ModelInfo


def idle(engine: RemoteEngine) -> psutil.Process:
    """The worker, once it has imported all that it needs."""
    assert engine.client.pid is not None
    engine.client.devices()
    process, rss = psutil.Process(engine.client.pid), 0
    while rss != (rss := process.memory_info().rss):
        time.sleep(0.3)
    return process


def growth(engine: RemoteEngine, path: Path, wishes: Wishes, n_words: int) -> Growth:
    """By loading the model at `path` and reading prompts of about twice as many tokens as `n_words`."""
    process = idle(engine)
    before = process.memory_info()
    info = engine.load(path, wishes.n_ctx, kv_type=wishes.kv_type, options=wishes.options).info
    engine.ask([user("Name a river.")], max_tokens=4)
    for part in range(_PARTS):
        # Each says something else, or they would share their cells.
        words = f"{('river', 'forest', 'mountain')[part]} stone " * (n_words // _PARTS)
        engine.ask([user(words)], chat=f"long-{part}", max_tokens=4)
    after = process.memory_info()
    rss_file = getattr(after, "shared", 0) - getattr(before, "shared", 0)
    return Growth(after.rss - before.rss, rss_file, info)
