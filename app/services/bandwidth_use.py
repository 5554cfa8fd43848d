"""How much of a device's memory bandwidth decoding uses, and how fast it could be at most.

A loaded model with its facts, and the machine, go in; bytes and rates come out. Source of the arithmetic:
`engine.memory.memory_wall`. Knows nothing about when to measure.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.memory.kv_math import bytes_per_token, kv_sizes
from engine.models.model_facts import ModelFacts
from engine.protocol import EffectiveOptions


@dataclass(frozen=True, slots=True)
class BandwidthUse:
    """What one token reads, in bytes, and at which rate; None for what is not known.

    `bandwidth`: bytes a second that the device reads at best. `tps`: tokens a second now.
    """

    weights_bytes: int
    kv_bytes: int
    bandwidth: float | None
    tps: float | None

    @property
    def used(self) -> float | None:
        """Bytes a second that are read."""
        return None if self.tps is None else self.tps * self._bytes_read

    @property
    def share(self) -> float | None:
        """The part of the bandwidth that is used, 0 to 1."""
        return None if self.used is None or not self.bandwidth else self.used / self.bandwidth

    @property
    def limit_tps(self) -> float | None:
        """Tokens a second that the bandwidth alone would allow."""
        return self.bandwidth / self._bytes_read if self.bandwidth and self._bytes_read else None

    @property
    def _bytes_read(self) -> int:
        return self.weights_bytes + self.kv_bytes


def cache_bytes_read(facts: ModelFacts, options: EffectiveOptions, n_cells: float) -> int:
    """Bytes of cache that one token reads: all cells in use, whoever's they are, and one state."""
    state = kv_sizes(facts, 1, options.k_type, n_seq_max=1).state_bytes
    return round(n_cells * bytes_per_token(facts, options.k_type, options.v_type)) + state
