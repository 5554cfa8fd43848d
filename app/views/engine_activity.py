"""What the engine is doing, in a line: reading, loading, writing, or what it did last.

`Gauges`, `PrefillProgress` and the model's loading go in with the time at which they came; an `Activity`
comes out for any later moment. Promises: what is slow and what is stuck read differently, since a figure
that does not move says for how long. Knows nothing about widgets.
"""

from __future__ import annotations

import enum
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.views import number_format
from app.views.gauge_label import Look
from engine.protocol import Gauges, ModelInfo, PrefillProgress

STUCK_AFTER_S = 5.0
"""No slice of a prompt and no step of loading takes so long on a machine that can run the model."""


class Phase(enum.Enum):
    """What is going on."""

    WRITING = "writing"
    READING = "reading"
    LOADING = "loading"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Activity:
    """`fraction` of what is being read or loaded, else None; `template` is as wide as `text` will become."""

    phase: Phase
    text: str
    look: Look
    template: str
    fraction: float | None = None


class EngineActivity:
    """Owns the newest news of each kind, and since when they are the newest."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._gauges: Gauges | None = None
        self._prefill: PrefillProgress | None = None
        self._loading: str | None = None
        self._loaded = 0.0
        self._info: ModelInfo | None = None
        self._last_tps: float | None = None
        self._moved_at = dict.fromkeys(Phase, 0.0)

    def measure(self, gauges: Gauges | None) -> None:
        """The engine's newest numbers; None when there is no engine, and its last speed is gone too."""
        self._gauges = gauges
        self._moved_at[Phase.WRITING] = self._clock()
        if gauges is None:
            self._last_tps = None
        elif self._tps is not None:
            self._last_tps = self._tps

    def read(self, progress: PrefillProgress | None) -> None:
        """How far the prompt is read; None when it is not being read."""
        old, self._prefill = self._prefill, progress
        is_same = old and progress and (old.request_id, old.n_done) == (progress.request_id, progress.n_done)
        if not is_same:  # the same figure again is no progress
            self._moved_at[Phase.READING] = self._clock()

    def load(self, info: ModelInfo | None, loading: str | None) -> None:
        """The model that answers, and the path of the one being loaded."""
        if loading != self._loading:
            self._loading, self._loaded = loading, 0.0
            self._moved_at[Phase.LOADING] = self._clock()
        if info != self._info:
            self._info, self._last_tps = info, None

    def load_more(self, fraction: float) -> None:
        """How much of the model being loaded is loaded, 0 to 1."""
        if fraction > self._loaded:
            self._loaded = fraction
            self._moved_at[Phase.LOADING] = self._clock()

    @property
    def is_running(self) -> bool:
        """Whether the words change by themselves when nothing comes any more."""
        return bool(self._prefill or self._loading or self._tps is not None)

    def now(self) -> Activity:
        """What is going on at this moment."""
        if self._prefill:
            return self._reading(self._prefill)
        if self._tps is not None:
            return self._writing(self._tps)
        if self._loading:
            return self._loading_model(self._loading)
        return self._idle()

    @property
    def _tps(self) -> float | None:
        tps = self._gauges.decode_tps if self._gauges else None
        return tps if tps is not None and math.isfinite(tps) else None

    def _reading(self, progress: PrefillProgress) -> Activity:
        words = _tr("reading {0} of {1} tokens")
        done, total = f"{progress.n_done:,}", f"{progress.n_total:,}"
        left = ""
        if progress.seconds_left is not None and math.isfinite(progress.seconds_left):
            left = _tr("{0} left").format(number_format.duration(progress.seconds_left))
        return self._with_bar(
            Phase.READING,
            words.format(done, total),
            left,
            words.format(total, total),
            number_format.fraction(progress.n_done, progress.n_total),
        )

    def _loading_model(self, path: str) -> Activity:
        words = _tr("loading {0}").format(Path(path).stem)
        percent = _tr("{0} %").format(math.floor(self._loaded * 100))
        return self._with_bar(Phase.LOADING, words, percent, words, min(1.0, self._loaded))

    def _with_bar(self, phase: Phase, text: str, more: str, widest: str, fraction: float) -> Activity:
        stuck = self._stuck(phase)
        # First what matters most: where there is no room, the end is cut.
        text = f"{stuck}: {text}" if stuck else ", ".join(filter(None, (text, more)))
        template = f"{_no_progress(88)}: {widest}"
        return Activity(phase, text, Look.STUCK if stuck else Look.NOW, template, fraction)

    def _writing(self, tps: float) -> Activity:
        text, stuck = number_format.rate(tps), self._stuck(Phase.WRITING)
        if stuck:
            template = f"{_no_progress(88)}, {speed_template()}"
            return Activity(Phase.WRITING, f"{stuck}, {_last(text)}", Look.STUCK, template)
        return Activity(Phase.WRITING, text, Look.NOW, speed_template())

    def _idle(self) -> Activity:
        if self._last_tps is not None:
            text = _last(number_format.rate(self._last_tps))
        elif self._info is None and self._gauges is None:
            text = _tr("no model")
        else:
            text = _tr("speed {0}").format(number_format.NOT_AVAILABLE)
        return Activity(Phase.IDLE, text, Look.PAST, speed_template())

    def _stuck(self, phase: Phase) -> str:
        seconds = self._clock() - self._moved_at[phase]
        return "" if seconds < STUCK_AFTER_S else _no_progress(seconds)


def _no_progress(seconds: float) -> str:
    return _tr("no progress for {0}").format(number_format.duration(seconds))


def _last(rate: str) -> str:
    return _tr("last {0}").format(rate)


def speed_template() -> str:
    """As wide as a speed that is told as past."""
    return _last(number_format.rate(88.8))


def _tr(text: str) -> str:
    return QCoreApplication.translate("EngineActivity", text)
