"""What the plots of benchmarks show: bars with their spread, shares of the limit, speed against depth.

Chosen results go in, named bars and curves come out, whatever order they were chosen in. Knows nothing
about drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.views import bench_words
from app.views.bench_compared import Compared


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its length, the slowest and the fastest repetition, what was expected, and the limit."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    expected: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Tokens a second at each depth."""

    name: str
    points: tuple[tuple[int, float], ...]


def prompt_bars(chosen: Sequence[Compared]) -> list[Bar]:
    """Whatever reads a prompt and is no chat."""
    return _bars([one for one in chosen if one.record.n_prompt and one.record.test_kind != "chat"])


def decode_bars(chosen: Sequence[Compared]) -> list[Bar]:
    """Whatever writes tokens alone, and the replies of chats."""
    return _bars([one for one in chosen if one.record.decode_rate is not None])


def limit_bars(chosen: Sequence[Compared]) -> list[Bar]:
    """What was reached, in percent of what the memory allows."""
    known = [(one, one.record.decode_rate, one.record.limit_ts) for one in chosen]
    rated = [(one, rate, limit) for one, rate, limit in known if rate is not None and limit]
    names = bench_words.labels([one for one, _, _ in rated])
    return [
        Bar(
            name,
            100 * rate / limit,
            expected=None if one.record.predicted_ts is None else 100 * one.record.predicted_ts / limit,
            limit=100.0,
        )
        for name, (one, rate, limit) in zip(names, rated, strict=True)
    ]


def depth_curves(chosen: Sequence[Compared]) -> list[Curve]:
    """Of each series that was measured at two depths or more, how fast it writes there.

    A series is the test without its depth, with one model, with the same settings, in one run.
    """
    series: dict[tuple[str, ...], dict[int, float]] = {}
    for one in chosen:
        record = one.record
        if (rate := record.decode_rate) is not None:
            test = replace(record, n_depth=0).test
            key = (test, bench_words.model_of(record), bench_words.settings(record), one.run)
            series.setdefault(key, {})[record.n_depth] = rate
    several = {key: points for key, points in sorted(series.items()) if len(points) > 1}
    varying = [place for place in range(4) if place == 0 or len({key[place] for key in several}) > 1]
    return [
        Curve(" · ".join(key[place] for place in varying if key[place]), tuple(sorted(points.items())))
        for key, points in several.items()
    ]


def in_words(chosen: Sequence[Compared]) -> str:
    """Names and speeds, for screen readers."""
    values = (bench_words.number(bench_words.speed_of(one.record)) for one in chosen)
    return "; ".join(
        f"{name}: {value}" for name, value in zip(bench_words.labels(chosen), values, strict=True)
    )


def _bars(chosen: Sequence[Compared]) -> list[Bar]:
    bars = []
    for name, one in zip(bench_words.labels(chosen), chosen, strict=True):
        value = bench_words.speed_of(one.record)
        if value is not None:
            is_chat = one.record.test_kind == "chat"  # its samples are of the whole question and answer
            spread = (None, None) if is_chat else (one.record.min_ts, one.record.max_ts)
            bars.append(Bar(name, value, *spread))
    return bars
