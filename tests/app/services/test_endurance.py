"""Endurance runs: one after the other, each in its own worker, and what is kept of them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.services.endurance import EnduranceChoices, EnduranceMeasurement
from app.services.endurance_files import text_of, write_file
from app.services.endurance_trace import Trace
from engine.errors import KnownError
from engine.protocol import (
    Cancel,
    EnduranceProgress,
    EnduranceReport,
    EnduranceRun,
    Endure,
    ErrorCode,
    ErrorReport,
    Failed,
    KVType,
    LoadProgress,
    Shift,
)
from tests.app.conftest import STARTER, Desk
from tests.app.scripted_engine import ScriptedEngine

BOTH = (EnduranceRun.ENDLESS, EnduranceRun.EXACT)


def progress(n_done: int, *perplexity: float, tps: float | None = 400.0) -> EnduranceProgress:
    return EnduranceProgress(n_done, 5000, perplexity, tps, 400 * 2**20, 0, 0)


def report(run: EnduranceRun = EnduranceRun.ENDLESS, **facts: object) -> EnduranceReport:
    values: dict[str, object] = {
        "policy": run.value,
        "shift": "lazy",
        "window": 1024,
        "sinks": 4,
        "kv_type": "f16",
        "n_tokens": 5000,
        "perplexity": (12.5, 11.25),
        "perplexity_second_half": 11.5,
        "tps": 431.25,
        "peak_rss_bytes": 413 * 2**20,
        "rss_growth_bytes": 3 * 2**19,
        "shifts": 2,
        "shift_ms": 2.31,
        "evictions": 16,
        "model": "starter.gguf",
    }
    return EnduranceReport(**(values | facts))  # type: ignore[arg-type]


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def measurement(desk: Desk, clock: Clock) -> EnduranceMeasurement:
    return EnduranceMeasurement(desk.weir.loader, desk.weir.preferences, desk.engine, clock)


def told(measurement: EnduranceMeasurement) -> str | None:
    return measurement.problem.message if measurement.problem else None


def is_disturbed(measurement: EnduranceMeasurement) -> bool:
    return measurement.disturbed


def commands(engine: ScriptedEngine) -> list[Endure]:
    return [client.sent[0] for client in engine.clients if isinstance(client.sent[0], Endure)]


def test_runs_follow_one_another_in_workers_of_their_own(
    desk: Desk, measurement: EnduranceMeasurement
) -> None:
    desk.weir.preferences.update(n_threads=2)
    measurement.start(EnduranceChoices(BOTH, 5000, 512, 8, Shift.EAGER, KVType.Q8_0))
    endless = Endure(
        str(STARTER), 512, 5000, 8, EnduranceRun.ENDLESS, Shift.EAGER, KVType.Q8_0, None, n_threads=2
    )
    assert commands(desk.engine) == [endless]
    first = desk.engine.newest
    desk.say(first.say, progress(0))
    desk.say(first.say, report())
    assert first.closed
    assert [command.run for command in commands(desk.engine)] == [*BOTH]
    assert measurement.position == (2, 2)
    assert measurement.stopped == ()
    desk.say(desk.engine.newest.say, report(EnduranceRun.EXACT))
    assert measurement.current is None
    assert [r.policy for r in measurement.reports] == ["endless", "exact"]
    assert [client.closed for client in desk.engine.clients] == [False, True, True]


def test_progress_becomes_curves_and_time_left(
    desk: Desk, measurement: EnduranceMeasurement, clock: Clock
) -> None:
    measurement.start(EnduranceChoices((EnduranceRun.ENDLESS,)))
    desk.say(desk.engine.newest.say, LoadProgress(0.5))
    assert measurement.loaded_fraction == 0.5
    assert [*measurement.traces] == []
    clock.now = 10.0
    desk.say(desk.engine.newest.say, progress(0, tps=None))
    assert measurement.seconds_left is None
    clock.now = 14.0
    desk.say(desk.engine.newest.say, progress(2000, 12.5, 11.25))
    assert measurement.tokens_done == (2000, 5000)
    assert measurement.seconds_left == pytest.approx(6.0)
    [trace] = measurement.traces
    assert trace.perplexity == (12.5, 11.25)
    assert [sample.n_done for sample in trace.samples] == [0, 2000]


def test_speed_is_that_of_the_last_thousand_tokens() -> None:
    trace = Trace(EnduranceRun.ENDLESS, 5000)
    for n_done, seconds in ((0, 0.0), (1000, 2.0), (2000, 4.0), (2500, 9.0), (3000, 14.0)):
        trace = trace.grown(progress(n_done, tps=n_done / seconds if seconds else None))
    assert [n_done for n_done, _ in trace.speeds()] == [1000, 2000, 2500, 3000]
    assert [speed for _, speed in trace.speeds()] == pytest.approx([500.0, 500.0, 1500 / 7, 100.0])


@pytest.mark.parametrize("tps", [None, 0.0, math.nan])
def test_speed_without_a_time_is_no_point_of_the_curve(tps: float | None) -> None:
    assert Trace(EnduranceRun.ENDLESS, 5000).grown(progress(0)).grown(progress(64, tps=tps)).speeds() == []


def test_stop_keeps_what_was_measured(desk: Desk, measurement: EnduranceMeasurement) -> None:
    measurement.start(EnduranceChoices(BOTH))
    client = desk.engine.newest
    desk.say(client.say, progress(1000, 12.5))
    measurement.stop()
    assert client.sent[1:] == [Cancel(0)]
    assert measurement.stopping
    assert not client.closed
    desk.say(client.say, report(n_tokens=1500, perplexity=(12.5,)))
    assert len(commands(desk.engine)) == 1
    assert [r.n_tokens for r in measurement.reports] == [1500]
    assert [(t.n_done, t.n_total) for t in measurement.stopped] == [(1500, 5000)]
    assert measurement.current is None
    assert not measurement.stopping


def test_stop_before_anything_was_measured_ends_the_worker(
    desk: Desk, measurement: EnduranceMeasurement
) -> None:
    measurement.start(EnduranceChoices())
    measurement.stop()
    assert desk.engine.newest.closed
    assert (measurement.current, measurement.traces) == (None, ())


def test_second_stop_does_not_wait_for_the_report(desk: Desk, measurement: EnduranceMeasurement) -> None:
    measurement.start(EnduranceChoices())
    desk.say(desk.engine.newest.say, progress(1000, 12.5))
    measurement.stop()
    measurement.stop()
    assert desk.engine.newest.closed
    assert measurement.current is None
    assert [trace.perplexity for trace in measurement.traces] == [(12.5,)]
    assert [trace.n_done for trace in measurement.stopped] == [1000]


def test_death_of_the_engine_is_told_and_the_curves_stay(
    desk: Desk, measurement: EnduranceMeasurement
) -> None:
    measurement.start(EnduranceChoices(BOTH))
    desk.say(desk.engine.newest.say, progress(1000, 12.5))
    desk.say(desk.engine.newest.die, "GGML_ASSERT(n_kv)")
    assert measurement.problem is not None
    assert "measured so far is kept" in measurement.problem.message
    assert measurement.problem.detail == "GGML_ASSERT(n_kv)"
    assert measurement.current is None
    assert len(commands(desk.engine)) == 1
    assert [trace.perplexity for trace in measurement.traces] == [(12.5,)]


def test_refusal_is_told_in_its_own_words_and_gone_with_the_next_start(
    desk: Desk, measurement: EnduranceMeasurement
) -> None:
    measurement.start(EnduranceChoices(BOTH))
    refusal = Failed(None, ErrorReport(ErrorCode.BAD_REQUEST, "The window is too small."))
    desk.say(desk.engine.newest.say, refusal)
    assert told(measurement) == "The window is too small."
    assert desk.engine.newest.closed
    measurement.start(EnduranceChoices(BOTH))
    assert told(measurement) is None
    assert len(commands(desk.engine)) == 2


def test_new_start_forgets_the_results_before(desk: Desk, measurement: EnduranceMeasurement) -> None:
    measurement.start(EnduranceChoices((EnduranceRun.EXACT,)))
    desk.say(desk.engine.newest.say, report(EnduranceRun.EXACT))
    measurement.start(EnduranceChoices((EnduranceRun.ENDLESS,)))
    assert measurement.reports == ()
    measurement.start(EnduranceChoices((EnduranceRun.EXACT,)))
    assert len(commands(desk.engine)) == 2, "a second start while one runs"


def test_nothing_starts_without_a_model(start: Callable[[], Desk]) -> None:
    desk = start()
    measurement = EnduranceMeasurement(desk.weir.loader, desk.weir.preferences, desk.engine)
    measurement.start(EnduranceChoices())
    assert measurement.current is None
    assert commands(desk.engine) == []


def test_reply_meanwhile_counts_as_a_disturbance(desk: Desk, measurement: EnduranceMeasurement) -> None:
    desk.send("Hello")
    chat = desk.engine.newest
    desk.say(chat.write, "Hi")
    assert not is_disturbed(measurement), "nothing is measured yet"
    measurement.start(EnduranceChoices())
    assert is_disturbed(measurement)
    desk.say(chat.finish, "Hi there")
    assert not is_disturbed(measurement)
    desk.send("Again")
    desk.say(chat.write, "Hi")
    assert is_disturbed(measurement)
    desk.say(chat.die)
    assert not is_disturbed(measurement)


def test_closing_ends_the_worker_and_what_waits(desk: Desk, measurement: EnduranceMeasurement) -> None:
    measurement.start(EnduranceChoices(BOTH))
    client = desk.engine.newest
    measurement.close()
    desk.say(client.say, report())
    assert client.closed
    assert (measurement.current, measurement.reports) == (None, ())
    assert len(commands(desk.engine)) == 1


# --- files ----------------------------------------------------------------------------------------


def test_one_run_is_one_json_object_and_several_are_an_array() -> None:
    runs = [report(), report(EnduranceRun.WINDOW, perplexity=(12.0, math.inf), shift_ms=None)]
    assert json.loads(text_of(runs[:1], "json"))["policy"] == "endless"
    both = json.loads(text_of(runs, "json"))
    assert [run["policy"] for run in both] == ["endless", "window"]
    assert both[1]["perplexity"] == [12.0, None]


def test_runs_share_one_csv_table() -> None:
    rows = list(csv.DictReader(io.StringIO(text_of([report(), report(EnduranceRun.EXACT)], "csv"))))
    assert [(row["policy"], row["tokens"], row["perplexity"]) for row in rows] == [
        ("endless", "1000", "12.5"),
        ("endless", "2000", "11.25"),
        ("exact", "1000", "12.5"),
        ("exact", "2000", "11.25"),
    ]


def test_markdown_has_all_runs() -> None:
    text = text_of([report(), report(EnduranceRun.EXACT)], "md")
    assert text.count("| Policy | endless |") == text.count("| Policy | exact |") == 1


def test_file_is_written_whole_in_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(b"old and longer")
    write_file(str(path), "ä,1\n".encode())
    assert path.read_bytes() == "ä,1\n".encode()
    assert [entry.name for entry in tmp_path.iterdir()] == ["results.csv"]


def test_file_that_cannot_be_written_is_told_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "results.csv"
    with pytest.raises(KnownError) as caught:
        write_file(str(path), b"1")
    assert str(caught.value).startswith(f"{path} could not be written (")
    assert not path.exists()
