"""The KV window: which tokens leave the cache so that the ones to come find room.

Attention sinks and a sliding window (StreamingLLM, Xiao et al. 2023, arXiv:2309.17453): the first
tokens of a chat stay for ever, because attention leans on them; of the rest the newest stay. Whole
turns leave, oldest first, ahead of need in steps of a quarter of the window, so that evictions are
rare; a turn that fills the window alone loses its oldest tokens.

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
    def step(self) -> int:
        """How much is evicted at once: a quarter of what is not sinks."""
        return max(1, (self.capacity - self.sinks) // 4)


def plan_eviction(occupancy: Occupancy, n_coming: int) -> list[Interval]:
    """Intervals to evict so that `n_coming` tokens fit; empty if they fit already.

    Minimal up to one step: beyond what is needed, only whole turns that fit into the step leave too.

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
    plan, freed = _whole_turns(occupancy, deficit)
    if freed < deficit:
        start, end = occupancy.turns[-1]
        # More than needed, so that the next token does not evict again; never more than the turn has.
        plan.append((start, start + min(end - start, max(deficit - freed, occupancy.step))))
    return plan


def _whole_turns(occupancy: Occupancy, deficit: int) -> tuple[list[Interval], int]:
    """The oldest turns, the current one excepted, until `deficit` is met and the step is used up."""
    plan: list[Interval] = []
    freed = 0
    for start, end in occupancy.turns[:-1]:
        size = end - start
        if freed >= deficit and freed + size > occupancy.step:
            break
        plan.append((start, end))
        freed += size
    return plan, freed
