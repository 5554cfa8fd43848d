"""What a decode costs by how many tokens it takes, learned from the decodes themselves.

Measured seconds go in, expected seconds come out. Where nothing was measured yet, the sizes around it tell,
and beyond them what a token of a prompt took. A batch of one may cost 11 ms and one of eight 12 or 55:
that is the machine's and the model's, so nothing is assumed for long. Knows nothing about drafts.
"""

from __future__ import annotations

from bisect import bisect_left

_WEIGHT = 0.15
"""Of the newest measurement; the first ones weigh more, as in a mean."""
_UNLIKELY = 2.0
"""How many times more or less than expected counts at most: the system may take the processor for a while."""
_UNKNOWN_SHARE = 0.5
"""What each further token adds while nothing is known: half of a step, as on a processor of few cores."""
_FADING, _DOUBTED_SHARE = 0.005, 0.25
"""With each plain step it is less sure that a token more adds so much, down to a quarter of a step."""
_FIRST_EXCESS = 1.2
_SMALLEST_PROMPT = 8
"""Tokens; fewer say little about what one token of many costs."""


class StepCosts:
    """Seconds of a decode by its number of tokens, each with its logits."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._counts: dict[int, int] = {}
        self._per_prompt_token: float | None = None

    def knows(self, n_tokens: int) -> bool:
        """True if such decodes were measured often enough to compare others with them."""
        return self._counts.get(n_tokens, 0) >= 3

    def measured(self, n_tokens: int, seconds: float, *, is_plain: bool) -> None:
        """A decode took so long. A plain one, without drafts, also tells how all others have changed.

        It is the measure of what the machine gives just now: other programs, the depth of a chat.
        """
        known = self.seconds(n_tokens) or seconds
        seconds = min(max(seconds, known / _UNLIKELY), known * _UNLIKELY)
        count = self._counts[n_tokens] = self._counts.get(n_tokens, 0) + 1
        if count == 1:  # nothing of this size may have been computed before, which takes longer
            self._seconds[n_tokens] = min(seconds, _FIRST_EXCESS * known)
            return
        change = 1 + max(_WEIGHT, 1 / count) * (seconds / known - 1)
        for size in list(self._seconds) if is_plain else [n_tokens]:
            self._seconds[size] *= change
        if is_plain:
            self._doubt(n_tokens)

    def _doubt(self, n_plain: int) -> None:
        """Let what larger sizes add fade a little: one measurement may have fallen into a bad moment."""
        plain = self._seconds[n_plain]
        for size, seconds in self._seconds.items():
            least = plain * (1 + (size - n_plain) * _DOUBTED_SHARE / n_plain)
            if size > n_plain and seconds > least:
                self._seconds[size] = seconds - _FADING * (seconds - least)

    def measured_prompt(self, n_tokens: int, seconds: float) -> None:
        """A slice of a prompt took so long: what a token costs among many."""
        if n_tokens >= _SMALLEST_PROMPT:
            self._per_prompt_token = seconds / n_tokens

    def seconds(self, n_tokens: int) -> float:
        """What a decode of `n_tokens` will take; 0.0 while nothing was measured at all."""
        sizes = sorted(self._seconds)
        place = bisect_left(sizes, n_tokens)
        if place < len(sizes) and sizes[place] == n_tokens:
            return self._seconds[n_tokens]
        if not sizes:
            return 0.0
        if place == 0:
            return self._seconds[sizes[0]]
        low = sizes[place - 1]
        if place < len(sizes):
            high = sizes[place]
            share = (n_tokens - low) / (high - low)
            return self._seconds[low] + share * (self._seconds[high] - self._seconds[low])
        return self._seconds[low] + (n_tokens - low) * self._per_token()

    def _per_token(self) -> float:
        """What one token more adds beyond the sizes that are known."""
        smallest, largest = min(self._seconds), max(self._seconds)
        slopes = [_UNKNOWN_SHARE * self._seconds[smallest] / smallest]
        if smallest < largest:
            slopes.append((self._seconds[largest] - self._seconds[smallest]) / (largest - smallest))
        if self._per_prompt_token is not None:
            slopes.append(self._per_prompt_token)
        return max(0.0, min(slopes))  # what turns out to be more is known after one try
