"""What an endurance run has measured so far: log-probabilities and memory.

One number a token, in an array that has its full size from the start. Perplexities are worked out
when they are asked for. Knows nothing about models or caches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import psutil

_THOUSAND = 1000
_WARM_UP_TOKENS = 2000


class Record:
    """The measurements of a run over `n_tokens` tokens. Bytes are the resident memory of this process.

    `rss_bytes` is the last sample, `peak_rss_bytes` the largest one.
    """

    def __init__(self, n_tokens: int) -> None:
        self.n_tokens = n_tokens
        self.n_done = 0
        # The text's first token is predicted by nothing: index 0 stays unused.
        self._log_probabilities = np.zeros(n_tokens, dtype=np.float32)
        self._process = psutil.Process()
        self.rss_bytes = self.peak_rss_bytes = self._process.memory_info().rss
        self._warm_rss: int | None = None
        self._warm_peak_rss = 0

    def add(self, log_probabilities: Sequence[float], n_done: int) -> None:
        """Note the tokens that follow the last `n_done - self.n_done` ones, and the memory now."""
        start = self.n_done + 1
        self._log_probabilities[start : start + len(log_probabilities)] = log_probabilities
        self.n_done = n_done
        self._sample_memory()

    def _sample_memory(self) -> None:
        self.rss_bytes = self._process.memory_info().rss
        self.peak_rss_bytes = max(self.peak_rss_bytes, self.rss_bytes)
        if self.n_done < _WARM_UP_TOKENS:
            return
        if self._warm_rss is None:
            self._warm_rss = self.rss_bytes
        self._warm_peak_rss = max(self._warm_peak_rss, self.rss_bytes)

    @property
    def rss_growth_bytes(self) -> int | None:
        """Largest growth after the first 2,000 tokens; None if there are not so many."""
        return None if self._warm_rss is None else self._warm_peak_rss - self._warm_rss

    @property
    def perplexity(self) -> tuple[float, ...]:
        """Of each complete 1,000 tokens."""
        ends = range(_THOUSAND, self.n_done + 1, _THOUSAND)
        return tuple(self._perplexity_of(end - _THOUSAND, end) for end in ends)

    @property
    def perplexity_second_half(self) -> float | None:
        """Of the later half of what was read; None if that is less than two tokens."""
        return self._perplexity_of(self.n_done // 2, self.n_done) if self.n_done >= 2 else None

    def _perplexity_of(self, start: int, end: int) -> float:
        mean = float(self._log_probabilities[max(start, 1) : end].mean(dtype=np.float64))
        try:
            return math.exp(-mean)
        except OverflowError:
            return math.inf
