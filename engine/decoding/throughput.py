"""How fast tokens are generated just now, for a gauge: over the decodes of the last second."""

from __future__ import annotations

import time
from collections import deque

_WINDOW_SECONDS = 1.0


class Throughput:
    """Counts tokens and the time that their decodes took, and forgets both after a second."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, float, int]] = deque()  # (when, seconds, tokens)

    def count(self, tokens: int, seconds: float) -> None:
        """`tokens` came out of a step of `seconds`."""
        self._recent.append((time.perf_counter(), seconds, tokens))

    def rate(self) -> float | None:
        """Tokens a second of decoding; None if nothing was decoded in the last second."""
        now = time.perf_counter()
        while self._recent and now - self._recent[0][0] > _WINDOW_SECONDS:
            self._recent.popleft()
        seconds = sum(spent for _when, spent, _tokens in self._recent)
        return sum(tokens for _when, _spent, tokens in self._recent) / seconds if seconds > 0 else None
