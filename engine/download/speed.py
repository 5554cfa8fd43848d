"""Bytes as they arrive in, the speed of the last seconds out."""

from __future__ import annotations

from collections import deque

WINDOW_S = 5.0
STEP_S = 0.1
MIN_S = 0.5  # a shorter time says nothing yet


class Speed:
    """Counts bytes by a clock that the caller reads; a reconnection does not lose the last seconds."""

    def __init__(self, now: float) -> None:
        self._samples = deque([(now, 0)])  # (time, bytes until then), the oldest one at the window's start
        self._n_bytes = 0

    def add(self, n_bytes: int, now: float) -> None:
        """`n_bytes` have arrived."""
        self._n_bytes += n_bytes
        if now - self._samples[-1][0] >= STEP_S:
            self._samples.append((now, self._n_bytes))
            while len(self._samples) > 1 and self._samples[1][0] <= now - WINDOW_S:
                self._samples.popleft()

    def bytes_per_second(self, now: float) -> float | None:
        """Over the last seconds up to `now`; None until there is something to divide."""
        then, n_before = next(
            (sample for sample in self._samples if sample[0] >= now - WINDOW_S), self._samples[-1]
        )
        seconds = now - then
        return (self._n_bytes - n_before) / seconds if seconds >= MIN_S else None
