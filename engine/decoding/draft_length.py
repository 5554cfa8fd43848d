"""How many tokens to draft: as many as pay, by what a decode costs and how often drafts were right.

Costs and outcomes go in, a length comes out, 0 where plain decoding is faster. The length is the one with the
most tokens a second that can be expected (Leviathan et al., "Fast Inference from Transformers via Speculative
Decoding", 2023). What may be lost is bounded by a purse: a draft is only tried while the purse can pay
for its failure, drafts that were right fill it, and a hundredth of the time without drafts does, so that they
are tried again. Knows nothing about tokens or where drafts come from.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.decoding.step_costs import StepCosts

_LEAST_GAIN = 1.08
"""Fewer times as fast are not worth the trouble: the costs are not known better than that."""
_MOST_SLOWED = 2.0
"""How many times longer a decode may take that others wait for, as beside a prompt that is read."""
_MEMORY = 60.0
"""Tokens after which an outcome counts 1/e."""
_FIRST_PURSE, _FULL_PURSE = 1.5, 3.0
"""In plain decodes: what may be lost without anything won before, and what is kept of what was won."""
_ALLOWANCE = 0.01


@dataclass(frozen=True, slots=True)
class Prospect:
    """A draft that could be made beside `n_others` tokens in the batch: `likelihood` of each of its tokens.

    `limit`: its most tokens. `seconds_each`: what it takes to think of one.
    """

    likelihood: float
    limit: int
    n_others: int = 0
    seconds_each: float = 0.0

    def n_expected(self, length: int) -> float:
        """Tokens that a decode with a draft of `length` will give, the one after the draft included."""
        if self.likelihood >= 1.0:
            return length + 1.0
        return (1 - self.likelihood ** (length + 1)) / (1 - self.likelihood)


class Acceptance:
    """How likely a drafted token is what the model says, the ones before it being so.

    `expected` is what to think before anything was drafted, and again when that was long ago.
    """

    def __init__(self, expected: float, weight: float = 4.0) -> None:
        self._expected, self._weight = expected, weight
        self._right = self._tried = 0.0

    @property
    def likelihood(self) -> float:
        """Between 0 and 1."""
        right = self._right + self._weight * self._expected
        return right / (self._tried + self._weight)

    def learn(self, n_drafted: int, n_accepted: int) -> None:
        """Of a draft so many tokens were right; what stood behind the first wrong one says nothing."""
        n_tried = n_accepted + (n_accepted < n_drafted)
        self.fade(n_tried)
        self._right += n_accepted
        self._tried += n_tried

    def fade(self, n_tokens: int) -> None:
        """Trust the past less, by so many tokens."""
        kept = (1 - 1 / _MEMORY) ** n_tokens
        self._right *= kept
        self._tried *= kept


class Purse:
    """What drafts may lose, in seconds; None until a plain decode was measured."""

    def __init__(self) -> None:
        self._seconds: float | None = None

    @property
    def is_empty(self) -> bool:
        """True if more was lost than may be."""
        return self._seconds is not None and self._seconds < 0

    def can_pay(self, loss: float, plain: float) -> bool:
        """True if a draft may be tried that loses `loss` seconds if it is wrong; a step takes `plain`."""
        if self._seconds is None:
            self._seconds = _FIRST_PURSE * plain
        return loss <= self._seconds

    def went_plain(self, plain: float) -> None:
        """A step went by without a draft."""
        if self._seconds is not None and self._seconds < _FIRST_PURSE * plain:
            self._seconds += _ALLOWANCE * plain

    def settle(self, gain: float, plain: float) -> None:
        """A draft won or, if `gain` is negative, lost so many seconds."""
        if self._seconds is not None:
            self._seconds = min(self._seconds + gain, _FULL_PURSE * plain)


def best_length(prospect: Prospect, costs: StepCosts, purse: Purse) -> int:
    """The length with which most tokens a second can be expected, 0 if none is better than plain decoding."""
    n_plain = prospect.n_others + 1
    plain = costs.seconds(n_plain)
    best, best_rate = 0, _LEAST_GAIN * n_plain / plain
    for length in range(1, prospect.limit + 1):
        seconds = costs.seconds(n_plain + length) + length * prospect.seconds_each
        if prospect.n_others and seconds > _MOST_SLOWED * plain:
            continue
        rate = (prospect.n_others + prospect.n_expected(length)) / seconds
        if rate > best_rate and purse.can_pay(seconds - plain, plain):
            best, best_rate = length, rate
    return best
