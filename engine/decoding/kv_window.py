"""The KV window: which tokens leave the cache so that the ones to come find room.

Attention sinks and a sliding window (StreamingLLM, Xiao et al. 2023, arXiv:2309.17453): the first
tokens of a chat stay for ever, because attention leans on them; of the rest the newest stay. Whole
turns leave, oldest first, ahead of need in steps of a quarter of the window, so that evictions are
rare. A turn longer than half of the window loses only its oldest tokens: without it the next
message ("shorter, please") would reach a model that sees nothing of what it is about.

Pure arithmetic over intervals of token offsets. Only the scheduler applies a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import BugError

Interval = tuple[int, int]
"""Half-open range [start, end) of token offsets."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What is in the cache of one sequence, in tokens.

    `capacity`: the cells that it may use. `sinks`: tokens that stay. `turns`: the resident rest as
    intervals, oldest first; the last is the turn that is being read or written.
    """

    capacity: int
    sinks: int
    turns: Sequence[Interval]

    @property
    def resident(self) -> int:
        """Tokens in the cache."""
        return self.sinks + sum(end - start for start, end in self.turns)

    @property
    def current(self) -> int:
        """Tokens in the cache of the turn that is being read or written."""
        return self.turns[-1][1] - self.turns[-1][0]

    @property
    def step(self) -> int:
        """How much is evicted at once: a quarter of what is not sinks."""
        return max(1, (self.capacity - self.sinks) // 4)

    def is_too_long(self, size: int) -> bool:
        """Whether a turn of `size` tokens is cut instead of evicted as a whole."""
        return 2 * size > self.capacity - self.sinks


def plan_eviction(occupancy: Occupancy, n_coming: int) -> list[Interval]:
    """Intervals to evict so that `n_coming` tokens fit; empty if they fit already.

    Minimal up to one step: beyond what is needed, only what fits into the step leaves too. Turns leave
    whole, but for one that is too long and the current one: they are cut, and nothing behind them leaves.

    Raises BugError if the sinks and the coming tokens alone exceed the capacity: the caller refuses
    such a prompt before it plans.
    """
    deficit = occupancy.resident + n_coming - occupancy.capacity
    if deficit <= 0:
        return []
    if occupancy.sinks + n_coming > occupancy.capacity:
        raise BugError(
            f"{n_coming} tokens beside {occupancy.sinks} sinks were planned into {occupancy.capacity} cells."
        )
    # More than needed, so that the next token does not evict again.
    wanted = max(deficit, occupancy.step)
    plan: list[Interval] = []
    freed = 0
    for number, (start, end) in enumerate(occupancy.turns):
        size, is_current = end - start, number == len(occupancy.turns) - 1
        if freed >= deficit and (is_current or freed + size > wanted):
            break
        if is_current or occupancy.is_too_long(size):
            size = min(size, wanted - freed)
        plan.append((start, start + size))
        freed += size
    return plan
