"""How long a benchmark will still take.

Runs that are to come, and the times of those that are done, go in; seconds come out. A token of a prompt and
one of a reply have each their own speed. Knows nothing about how they are measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.protocol import BenchCase

_DECODE_OVER_PROMPT = 8.0  # how much longer a reply's token takes, until both are measured


class Pace:
    """Owns the runs that are left of `cases`: for each the warm-up, if there is one, and its repetitions."""

    def __init__(self, cases: Sequence[BenchCase], repetitions: int, warm_up: bool) -> None:
        self._cases = cases
        self._runs_of_case = repetitions + int(warm_up)
        self.n_total = len(cases) * self._runs_of_case
        self.n_done = 0
        self._prompt_seconds: float | None = None
        self._decode_seconds: float | None = None

    def done(self, case: BenchCase, seconds: float) -> None:
        """A run of `case` took so long, without its depth; 0 for a warm-up, which tells nothing of speed."""
        self.n_done += 1
        if seconds <= 0:
            return
        if not case.n_gen:
            self._prompt_seconds = seconds / case.n_prompt
        elif not case.n_prompt:
            self._decode_seconds = seconds / case.n_gen
        else:
            prompt, decode = self._speeds() or (1.0, _DECODE_OVER_PROMPT)
            expected = case.n_prompt * prompt + case.n_gen * decode
            self._prompt_seconds, self._decode_seconds = (
                one * seconds / expected for one in (prompt, decode)
            )

    @property
    def seconds_left(self) -> float | None:
        """None until a run was measured."""
        speeds = self._speeds()
        if speeds is None:
            return None
        index, done = divmod(self.n_done, self._runs_of_case)
        left = 0.0
        for case in self._cases[index:]:
            left += (self._runs_of_case - done) * (case.n_prompt * speeds[0] + case.n_gen * speeds[1])
            left += 0.0 if done else case.n_depth * speeds[0]
            done = 0
        return left

    def _speeds(self) -> tuple[float, float] | None:
        prompt, decode = self._prompt_seconds, self._decode_seconds
        if prompt is None and decode is None:
            return None
        return (
            (decode or 0.0) / _DECODE_OVER_PROMPT if prompt is None else prompt,
            (prompt or 0.0) * _DECODE_OVER_PROMPT if decode is None else decode,
        )
