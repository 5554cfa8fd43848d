"""One case of a benchmark on one context: the work that is timed, and what has to stand before it.

Random tokens go through the chat's own `Batch` and `Context`, as `llama-bench` sends them through llama.cpp:
prompts in batches of `n_batch`, replies a token at a time, no sampling, logits for the last token alone, and
the tokens of the depth read once, untimed, and put back from memory afterwards (tools/llama-bench/
llama-bench.cpp). Times come out, in nanoseconds. Knows nothing about models on disk, grids or events.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.errors import BugError
from engine.llama.batch import Batch
from engine.llama.context import Context
from engine.llama.model import Model
from engine.protocol import BenchCase

_SEQ_ID = 0


class Cancelled(Exception):
    """Somebody wants the benchmark to end; what was begun is not a measurement."""


@dataclass(frozen=True, slots=True)
class DepthState:
    """The cells of `n_depth` tokens, for the next case of the same depth and shape."""

    n_depth: int
    cells: bytes


class BenchPass:
    """Repeats one case. `check` is called before each decode and may raise `Cancelled`."""

    def __init__(self, model: Model, context: Context, case: BenchCase, check: Callable[[], None]) -> None:
        self._context = context
        self._case = case
        self._check = check
        self._batch = Batch(context.n_batch)
        self._bos = model.bos if model.adds_bos else None
        self._n_vocab = model.n_vocab
        self._random = random.Random(0)
        self.depth_state: DepthState | None = None

    def close(self) -> None:
        """Free the batch."""
        self._batch.close()

    def warm_up(self) -> None:
        """The whole prompt once, and one token: weights are paged in, threads and buffers are there."""
        self._empty()
        if self._case.n_prompt:
            self._read(self._tokens(self._case.n_prompt), 0)
        if self._case.n_gen:
            self._generate(self._tokens(1), self._case.n_prompt)

    def repeat(self) -> int:
        """Do what is timed, behind the depth's tokens; returns nanoseconds."""
        case = self._case
        self._empty()
        self._go_down()
        prompt, reply = self._tokens(case.n_prompt), self._tokens(case.n_gen)
        started = time.perf_counter_ns()
        self._read(prompt, case.n_depth)
        self._generate(reply, case.n_depth + case.n_prompt)
        return time.perf_counter_ns() - started

    def _empty(self) -> None:
        self._context.remove(_SEQ_ID, -1, -1)

    def _go_down(self) -> None:
        """Let the cache hold the depth's tokens."""
        n_depth, known = self._case.n_depth, self.depth_state
        if not n_depth:
            return
        # A state of another shape, as with another KV type, is refused: then it is read again.
        if known and known.n_depth == n_depth and self._context.restore(_SEQ_ID, known.cells):
            return
        self._empty()
        self._read(self._tokens(n_depth), 0)
        self.depth_state = DepthState(n_depth, self._context.save(_SEQ_ID))

    def _tokens(self, count: int) -> list[int]:
        ids = [self._random.randrange(self._n_vocab) for _ in range(count)]
        if ids and self._bos is not None:
            ids[0] = self._bos
        return ids

    def _read(self, ids: list[int], position: int) -> None:
        size = self._batch.capacity
        for start in range(0, len(ids), size):
            part = ids[start : start + size]
            self._batch.clear()
            self._batch.extend(part, position + start, _SEQ_ID, output=True)
            self._decode()

    def _generate(self, ids: list[int], position: int) -> None:
        batch = self._batch
        for index, token in enumerate(ids):
            batch.clear()
            batch.add(token, position + index, _SEQ_ID, True)
            self._decode()

    def _decode(self) -> None:
        self._check()
        status = self._context.decode(self._batch)
        if status != 0:
            raise BugError(f"llama.cpp could not evaluate the tokens (code {status}).")
