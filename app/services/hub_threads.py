"""A few threads for questions to the Hub, so that one that hangs does not keep the next one waiting.

Jobs go in with what shall be done with their result, as with a `Background`. Promises that no more than so
many run at once; a job goes where the fewest wait. Knows nothing about the jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from app.services.background import Background, Runner

N_THREADS = 3
Result = TypeVar("Result")


class HubThreads:
    """Owns the threads, which start when they are first needed."""

    def __init__(
        self, name: str, make_runner: Callable[[str], Runner] = Background, n_threads: int = N_THREADS
    ) -> None:
        self._runners = [make_runner(f"{name}-{number}") for number in range(n_threads)]
        self._n_jobs = [0] * n_threads

    def run(self, job: Callable[[], Result], then: Callable[[Result | None], None]) -> None:
        """Do `job` some time soon and call `then` with its result; None where it failed."""
        index = self._n_jobs.index(min(self._n_jobs))
        self._n_jobs[index] += 1

        def done(result: Result | None) -> None:
            self._n_jobs[index] -= 1
            then(result)

        self._runners[index].run(job, done)

    def close(self) -> None:
        """Nothing is told any more."""
        for runner in self._runners:
            runner.close()
