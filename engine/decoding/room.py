"""Room: how many cells a sequence may use, and what that leaves for a message.

The one arithmetic behind what is admitted, what is chosen for a fresh cache, and what a front end is told
still fits. Knows nothing about what is in the cells.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol import CachePolicy, Policy, max_sinks


@dataclass(frozen=True, slots=True)
class Room:
    """What a sequence may use: `capacity` cells, how they are kept, whether its cache can drop its middle."""

    capacity: int
    policy: CachePolicy
    can_evict: bool

    @property
    def reserve(self) -> int:
        """Cells that a prompt must leave for its reply."""
        return max(1, min(32, self.capacity // 8))

    @property
    def max_sinks(self) -> int:
        """First tokens that may stay at most."""
        return max_sinks(self.capacity)

    @property
    def keeps_cells(self) -> bool:
        """True if turns leave without anything being read again."""
        return self.can_evict and self.policy.policy is not Policy.EXACT

    @property
    def why_not(self) -> str:
        """Why what remains is read again, where that is so."""
        return "policy exact" if self.can_evict else "model cannot shift"

    def free_beside(self, n_staying: int) -> int:
        """Tokens that a turn may have beside `n_staying` that do not leave; none if negative."""
        return self.capacity - self.reserve - n_staying
