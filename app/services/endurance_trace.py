"""What is known of one endurance run while it goes on: its curves, and at its end the report.

Progress goes in, a longer trace comes out; knows nothing about workers or plots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from engine.protocol import EnduranceProgress, EnduranceReport, EnduranceRun

_SPEED_SPAN = 1000
"""Tokens that a speed is averaged over: `exact` reads a window at a time and then nothing new."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A moment of a run: tokens read, the time that they took to decode, the worker's resident memory."""

    n_done: int
    seconds: float
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class Trace:
    """The curves of one run; `report` once it has ended by itself or was stopped."""

    run: EnduranceRun
    n_total: int
    perplexity: tuple[float, ...] = ()
    samples: tuple[Sample, ...] = ()
    report: EnduranceReport | None = None

    @property
    def n_done(self) -> int:
        """Tokens that were read so far."""
        if self.report:
            return self.report.n_tokens
        return self.samples[-1].n_done if self.samples else 0

    def grown(self, progress: EnduranceProgress) -> Trace:
        """With what `progress` says."""
        tps = progress.tps
        seconds = progress.n_done / tps if tps and math.isfinite(tps) else 0.0
        sample = Sample(progress.n_done, seconds, progress.rss_bytes)
        return replace(self, perplexity=progress.perplexity, samples=(*self.samples, sample))

    def ended(self, report: EnduranceReport) -> Trace:
        """With its report."""
        return replace(self, perplexity=report.perplexity, report=report)

    def speeds(self) -> list[tuple[int, float]]:
        """At each sample: tokens read, and tokens a second over the last 1,000 of them."""
        points: list[tuple[int, float]] = []
        first = 0
        for index, sample in enumerate(self.samples):
            while first + 1 < index and self.samples[first + 1].n_done <= sample.n_done - _SPEED_SPAN:
                first += 1
            since = self.samples[first]
            if sample.n_done > since.n_done and sample.seconds > since.seconds:
                speed = (sample.n_done - since.n_done) / (sample.seconds - since.seconds)
                points.append((sample.n_done, speed))
        return points
