"""How many CPU threads decode the next batch: found by measurement, following the load of the machine.

    before_decode() -> threads for this step -> its time -> measured()

The present number is compared with others of a ladder (all cores, one less, then in steps of a quarter)
by decoding a few tokens with each: when a load begins, when steps become slower at once (another program
began), and seldom besides, since a core that becomes free shows in nothing else. Steps are compared with
those of the same size just before them, so depth and the number of replies cancel out. What trials cost is
booked in steps, and none is made without credit. Prompts are computed with all cores: their long operations
share a core with others well. Knows nothing about llama.cpp, clocks or other processes.
"""

from __future__ import annotations

from collections import deque

_CREDIT_PER_STEP = 0.012  # of a step: what trials may cost in the long run
_FIRST_CREDIT, _MOST_CREDIT = 6.0, 10.0  # steps
_RESERVE = 3.0  # steps of credit that only a sudden slowness may use

_TRIAL_STEPS = 6
_TRIAL_LOSS = 0.8  # of a step: a trial that lost so much ends
_STEPS_BETWEEN = 5  # with the present number, so that its level is fresh
_WIN, _HOPELESS = 0.93, 1.5  # of the present number's time
_SLOWER = 1.35  # two of three steps: another program began
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 4.0  # seconds of decoding between checks
_LEVEL_STEPS = 10


def ladder(n_most: int) -> list[int]:
    """The numbers of threads that are tried, descending: 8, 7, 6, 5, 4, 3, 2, 1; 24, 23, 18, 14, 11, ..."""
    rungs = [n_most]
    while rungs[-1] > 1:
        n_threads = rungs[-1]
        rungs.append(n_threads - (1 if len(rungs) == 1 else max(1, n_threads // 4)))
    return rungs


class ThreadChoice:
    """Chooses between 1 and `n_most` threads, step by step.

    `n_threads` is the number that generated tokens are decoded with at present, trials aside.
    """

    def __init__(self, n_most: int) -> None:
        self._rungs = ladder(n_most)
        self.n_threads = n_most
        self._levels: dict[int, float] = {}  # tokens in the batch -> seconds of a step with n_threads
        self._n_levelled = 0  # steps behind the levels, up to _LEVEL_STEPS
        self._recent: deque[float] = deque(maxlen=3)  # times over their level
        self._plan = self._rungs[1:]  # numbers to be tried next
        self._before: int | None = None  # the number that was left just now and gets a second trial
        self._trial: int | None = None
        self._scores: list[float] = []
        self._credit = _FIRST_CREDIT
        self._steps_since, self._seconds_since = 0, 0.0  # since the last trial
        self._pause = _FIRST_PAUSE
        self._n_checks = 0

    def before_decode(self, n_decode_tokens: int, n_prompt_tokens: int) -> int:
        """The threads for a batch of so many tokens of replies (with drafts) and of prompts."""
        if n_prompt_tokens:
            return self._rungs[0]
        if n_decode_tokens not in self._levels:
            return self.n_threads
        if self._trial is None:
            self._trial = self._due()
        return self._trial or self.n_threads

    def measured(self, n_decode_tokens: int, n_prompt_tokens: int, seconds: float) -> None:
        """That batch took `seconds`, with the threads that `before_decode` said."""
        level = self._levels.get(n_decode_tokens)
        if n_prompt_tokens:
            self._begin_reply()
        elif seconds > 0 and (self._trial is None or level is None):
            self._follow(n_decode_tokens, seconds, level)
        elif seconds > 0 and level:
            self._judge(seconds / level)

    # --- with the present number ---

    def _begin_reply(self) -> None:
        """Forget the levels, which were another depth's, and check soon: the load may be another too."""
        self._levels, self._n_levelled, self._pause = {}, 0, _FIRST_PAUSE
        self._recent.clear()

    def _follow(self, n_tokens: int, seconds: float, level: float | None) -> None:
        self._steps_since += 1
        self._seconds_since += seconds
        self._credit = min(_MOST_CREDIT, self._credit + _CREDIT_PER_STEP)
        if level is None:
            self._levels[n_tokens] = seconds
            return
        self._recent.append(seconds / level)
        self._n_levelled = min(_LEVEL_STEPS, self._n_levelled + 1)
        # A single long step is the system's hiccup: it must not make another number look good.
        counted = seconds if self._n_levelled == 1 else min(seconds, level * _SLOWER)
        self._levels[n_tokens] = level + (counted - level) / self._n_levelled
        if self._n_levelled == _LEVEL_STEPS and sorted(self._recent)[1] > _SLOWER:
            self._relevel(1.0, n_steps=0)  # the next step counts alone
            self._plan, self._before = self._around(), None

    def _relevel(self, factor: float, n_steps: int) -> None:
        """Let the levels be `factor` times what they were, as measured in `n_steps`."""
        self._levels = {n_tokens: level * factor for n_tokens, level in self._levels.items()}
        self._n_levelled = n_steps
        self._recent.clear()
        self._steps_since = 0

    def _around(self) -> list[int]:
        """All other numbers, the nearest first: fewer, then more."""
        here = self._rungs.index(self.n_threads)
        return self._rungs[here + 1 :] + self._rungs[:here][::-1]

    # --- trials ---

    def _due(self) -> int | None:
        """The number to be tried in this step, None for the present one."""
        if self._steps_since < _STEPS_BETWEEN or self._credit <= 0:
            return None
        if self._plan:
            return self._plan.pop(0)
        if self._seconds_since < self._pause or self._credit < _RESERVE:
            return None
        self._pause = min(_LONGEST_PAUSE, self._pause * 2)
        # More often upwards: that a core became free shows only so, that one was taken shows by itself.
        self._n_checks += 1
        upwards = self._n_checks % 4 != 0
        return self._neighbour(upwards) or self._neighbour(not upwards)

    def _neighbour(self, upwards: bool) -> int | None:
        here = self._rungs.index(self.n_threads) + (-1 if upwards else 1)
        return self._rungs[here] if 0 <= here < len(self._rungs) else None

    def _judge(self, score: float) -> None:
        """Take a trial step's time over the present number's level; decide when there are enough."""
        self._scores.append(score)
        self._credit -= max(0.0, score - 1)
        n_steps, total = len(self._scores), sum(self._scores)
        if n_steps < _TRIAL_STEPS and total - n_steps < _TRIAL_LOSS:
            return
        tried, mean = self._trial or self.n_threads, total / n_steps
        usual = sorted(self._scores)[(n_steps - 1) // 2]
        is_return, self._before = tried == self._before, None
        self._trial, self._scores = None, []
        self._steps_since, self._seconds_since = 0, 0.0
        if mean < (1.0 if is_return else _WIN):
            self._adopt(tried, mean, is_return)
        elif usual > _HOPELESS:  # numbers still further that way are worse
            fewer = tried < self.n_threads
            self._plan = [n_threads for n_threads in self._plan if (n_threads < self.n_threads) != fewer]

    def _adopt(self, n_threads: int, score: float, is_return: bool) -> None:
        """Decode with another number; unless it won twice, the one it replaces gets a second trial."""
        left, self.n_threads = self.n_threads, n_threads
        self._relevel(score, _TRIAL_STEPS)
        self._pause = _FIRST_PAUSE
        further = [n for n in self._around() if (n < n_threads) == (n_threads < left)]
        self._before, self._plan = (None, []) if is_return else (left, [left, *further])
