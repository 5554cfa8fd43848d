"""What shall be measured: lists of settings that together make the grid of a benchmark.

Frozen values; what was chosen goes in, one `Bench` a model comes out. Knows nothing about widgets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from engine.protocol import Bench, BenchCase, FlashAttention, KVType

MOST_CASES = 500
"""Of one model: more would take days, and is a slip of the keyboard."""

_N_UBATCH = 512


@dataclass(frozen=True, slots=True)
class BenchChoices:
    """The models at `paths` with each combination; `with_chat` measures the whole path of a chat as well.

    A number of threads that is None is one for each core.
    """

    paths: tuple[str, ...] = ()
    prompts: tuple[int, ...] = (512,)
    gens: tuple[int, ...] = (128,)
    depths: tuple[int, ...] = (0,)
    threads: tuple[int | None, ...] = (None,)
    batches: tuple[int, ...] = (2048,)
    kv_types: tuple[KVType, ...] = (KVType.F16,)
    flash_attention: tuple[FlashAttention, ...] = (FlashAttention.AUTO,)
    repetitions: int = 5
    with_chat: bool = False

    def cases(self) -> tuple[BenchCase, ...]:
        """The grid: for each combination all prompts, then all generations, then the chat.

        Raises BadRequest for what cannot be measured.
        """
        combinations = itertools.product(
            self.kv_types, self.flash_attention, self.threads, self.batches, self.depths
        )
        return tuple(
            BenchCase(
                n_prompt,
                n_gen,
                depth,
                batch,
                min(_N_UBATCH, batch),
                kv_type,
                flash_attention=flash_attention,
                n_threads=n_threads,
                is_chat=is_chat,
            )
            for kv_type, flash_attention, n_threads, batch, depth in combinations
            for n_prompt, n_gen, is_chat in self._tests()
        )

    def commands(self) -> tuple[Bench, ...]:
        """One benchmark for each model. Raises BadRequest for what cannot be measured."""
        cases = self.cases()
        return tuple(Bench(path, cases, self.repetitions) for path in self.paths)

    def _tests(self) -> Iterator[tuple[int, int, bool]]:
        yield from ((n, 0, False) for n in self.prompts if n)
        yield from ((0, n, False) for n in self.gens if n)
        if self.with_chat:
            yield from ((n, m, True) for n in self.prompts for m in self.gens if n and m > 1)
