"""The engine's gauges over the last minutes.

Events come in; the speed and the fill of the KV cache come out as a fixed number of columns that end now.
Promises: it never holds more than the last five minutes, and nothing of an engine that is gone. It knows
nothing about how a curve is drawn.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from engine.protocol import Event, Gauges

SPAN_S = 300.0
"""How long a measurement is kept."""

MOST_SAMPLES = 2400
"""However often the engine speaks; it does four times a second, and once more at the end of a turn."""

_HOLDS_S = 3.0
"""A measurement holds until the next one, but not longer: a slow model is measured every few seconds."""

Columns = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement at `at` seconds of the clock; `tps` None while nothing was decoded."""

    at: float
    tps: float | None
    fill: float | None


class GaugeHistory(QObject):
    """Owns the newest `Gauges` and the measurements before it."""

    changed = Signal()
    """A measurement came in, or all of them went."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._clock = clock
        self._samples: deque[Sample] = deque(maxlen=MOST_SAMPLES)
        self.newest: Gauges | None = None

    def __len__(self) -> int:
        return len(self._samples)

    def __bool__(self) -> bool:
        return True  # there is a history, however short

    def take(self, event: Event) -> None:
        """An event of the engine that answers; only `Gauges` are kept."""
        if not isinstance(event, Gauges):
            return
        now = self._clock()
        fill = event.kv_cells_used / event.kv_cells if event.kv_cells > 0 else None
        self._samples.append(Sample(now, _finite(event.decode_tps), fill))
        while self._samples[0].at < now - SPAN_S:
            self._samples.popleft()
        self.newest = event
        self.changed.emit()

    def clear(self) -> None:
        """The engine is gone, or another one answers."""
        self._samples.clear()
        self.newest = None
        self.changed.emit()

    def speeds(self, span_s: float, n: int) -> Columns:
        """Tokens a second in each `n`-th of the last `span_s` seconds, oldest first; None for a gap."""
        return self._columns(lambda sample: sample.tps, span_s, n)

    def fills(self, span_s: float, n: int) -> Columns:
        """The share of the KV cache's cells that were used, 0 to 1, in the same columns."""
        return self._columns(lambda sample: sample.fill, span_s, n)

    def _columns(self, value: Callable[[Sample], float | None], span_s: float, n: int) -> Columns:
        # Columns start at whole multiples of their width: a curve moves by columns, or not at all.
        width = span_s / n
        end = math.floor(self._clock() / width) + 1
        begin = end - n - math.ceil(_HOLDS_S / width)
        samples = self._by_column(width, begin)
        columns: list[float | None] = []
        last: Sample | None = None
        for column in range(begin, end):
            if own := samples.get(column):
                columns.append(_mean([value(sample) for sample in own]))
                last = own[-1]
            else:
                holds = last is not None and column * width < last.at + _HOLDS_S
                columns.append(value(last) if last and holds else None)
        return tuple(columns[-n:])

    def _by_column(self, width: float, begin: int) -> dict[int, list[Sample]]:
        """The samples of each column from `begin` on, oldest first; older ones are not looked at."""
        found: dict[int, list[Sample]] = {}
        for sample in reversed(self._samples):
            column = math.floor(sample.at / width)
            if column < begin:
                break
            found.setdefault(column, []).insert(0, sample)
        return found


def _mean(values: list[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return sum(measured) / len(measured) if measured else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
