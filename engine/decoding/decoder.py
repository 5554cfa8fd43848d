"""Decodes batches, with the number of threads that suits the machine just now.

Knows nothing about what is in a batch but how many tokens are of prompts.
"""

from __future__ import annotations

import time

from engine.decoding.thread_choice import ThreadChoice
from engine.llama.batch import Batch
from engine.llama.context import Context


class Decoder:
    """Owns the choice of threads; `follows_load` False leaves the context's own number."""

    def __init__(self, context: Context, *, follows_load: bool) -> None:
        self._context = context
        self._choice = ThreadChoice(context.n_threads) if follows_load else None

    @property
    def n_threads(self) -> int:
        """Those that generated tokens are decoded with."""
        return self._choice.n_threads if self._choice else self._context.n_threads

    def decode(self, batch: Batch, n_prompt: int) -> int:
        """Evaluate the batch, of which `n_prompt` tokens are of prompts; `Context.decode`'s status."""
        if self._choice is None:
            return self._context.decode(batch)
        n_replying = len(batch) - n_prompt
        self._context.set_threads(self._choice.before_decode(n_replying, n_prompt))
        started = time.perf_counter()
        status = self._context.decode(batch)
        if status == 0:
            self._choice.measured(n_replying, n_prompt, time.perf_counter() - started)
        return status
