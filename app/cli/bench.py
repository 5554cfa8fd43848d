"""`weir bench`: models are measured case by case, the report comes on standard output.

In: `BenchOptions`. Out: the report in the form that was asked for, progress and doubts on standard error, and
an exit status: 0; 1 if a model or the engine failed; 2 for values that make no sense; 130 after Ctrl+C. A
model that fails ends nothing but itself. What was measured is reported in any case, and what is missing.
A second Ctrl+C ends at once. It knows nothing about how anything is measured.
"""

from __future__ import annotations

import contextlib
import io
import queue
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app.cli.bench_arguments import BenchOptions
from app.cli.bench_progress import BenchProgressBar
from app.cli.chat import choose_model
from app.cli.chat_session import EngineFactory
from app.cli.engine_events import next_event, real_engine
from app.cli.interrupts import INTERRUPTED, first_interrupt_calls
from app.data.bench_export import FORMATS, file_name, to_jsonl
from app.data.bench_rating import Machine, learn, rated
from app.data.bench_record import BenchRecord
from app.data.bench_warnings import missing, warnings
from app.data.paths import bandwidth_path, calibrations_path
from engine.errors import BadRequest, EngineGone, KnownError, ModelFileError
from engine.models.model_facts import ModelFacts, read_facts
from engine.protocol import (
    BenchFinished,
    BenchProgress,
    BenchResult,
    Cancel,
    EngineDied,
    ErrorCode,
    Event,
    Failed,
    LoadProgress,
)


def run_bench(
    options: BenchOptions,
    make_engine: EngineFactory | None = None,
    read_machine: Callable[[], Machine] | None = None,
) -> int:
    """Carry out the benchmark; returns the exit status. None takes the real engine and this machine."""
    progress = BenchProgressBar(sys.stderr or io.StringIO())
    if sys.stdout is None:  # print would be silent
        progress.note("Standard output is closed: there is nowhere to write the report.")
        return 1
    report = _Report(options, progress)
    status = 0
    try:
        paths = options.models or (choose_model(None, progress.note),)
        machine = (read_machine or this_machine)()
        for path in paths:
            ended = _try(options, path, report, machine, make_engine or real_engine())
            status = status or ended
            if ended == INTERRUPTED:
                status = INTERRUPTED
                break
    except ModelFileError as error:
        progress.note(str(error))
        status = 1
    except KeyboardInterrupt:
        status = INTERRUPTED
    progress.clear()
    report.finish(len(options.cases) * max(1, len(options.models)))
    return status


def _try(
    options: BenchOptions, path: str, report: _Report, machine: Machine, make_engine: EngineFactory
) -> int:
    """Measure one model; returns the exit status. One that cannot be measured is told."""
    try:
        return _measure(options, path, report, machine, make_engine)
    except (BadRequest, ModelFileError, EngineGone) as error:
        report.note(str(error))
        return 2 if isinstance(error, BadRequest) else 1


class _Report:
    """The rows so far, on standard output: lines of JSON at once, other forms in the end."""

    def __init__(self, options: BenchOptions, progress: BenchProgressBar) -> None:
        self._options = options
        self._progress = progress
        self._records: list[BenchRecord] = []
        self._has_several_models = len(options.models) > 1

    def add(self, record: BenchRecord) -> None:
        """One more row, with what makes it doubtful on standard error."""
        self._records.append(record)
        for sentence in warnings(
            record, file_name(record.model_filename) if self._has_several_models else ""
        ):
            self._progress.note(sentence)
        if self._options.output == "jsonl":
            self._progress.clear()
            print(to_jsonl([record], self._options.whole_paths), end="", file=sys.stdout, flush=True)

    def note(self, sentence: str) -> None:
        """A sentence on standard error."""
        self._progress.note(sentence)

    def show(self, event: BenchProgress | LoadProgress) -> None:
        """How far it is."""
        self._progress.show(event)

    def finish(self, n_cases: int) -> None:
        """Write what is not written yet, and say if that is not all of `n_cases`."""
        sentence = missing(len(self._records), n_cases)
        if sentence:
            self._progress.note(sentence)
        if sentence and self._records:
            n_missing = n_cases - len(self._records)
            self._records[-1] = replace(self._records[-1], aborted=True, missing_cases=n_missing)
        if self._options.output != "jsonl":
            text = FORMATS[self._options.output](self._records, self._options.whole_paths)
            print(text, end="", file=sys.stdout, flush=True)


def _measure(
    options: BenchOptions, path: str, report: _Report, machine: Machine, make_engine: EngineFactory
) -> int:
    """Measure one model; returns the exit status."""
    facts = read_facts(Path(path))
    events: queue.SimpleQueue[Event | Cancel] = queue.SimpleQueue()
    with (
        contextlib.closing(make_engine(events.put)) as engine,
        first_interrupt_calls(lambda: events.put(Cancel(0))) as was_interrupted,
    ):
        engine.send(options.command(path))
        told: set[str] = set()
        while True:
            event = next_event(events)
            if isinstance(event, Cancel):
                with contextlib.suppress(EngineGone):  # then its end is on the way
                    engine.send(event)
            elif isinstance(event, BenchResult):
                _take(event, facts, report, machine, told)
            else:
                status = _end(event, report)
                if status is not None:
                    return INTERRUPTED if was_interrupted() else status


def _take(result: BenchResult, facts: ModelFacts, report: _Report, machine: Machine, told: set[str]) -> None:
    """A row: rated with what was known before it, then learned from."""
    for notice in result.notices:
        if notice not in told:
            report.note(notice)
            told.add(notice)
    record = rated(result, facts, machine)
    report.add(record)
    with contextlib.suppress(OSError):  # it only makes later expectations better
        learn(record, result, facts, machine)


def _end(event: Event, report: _Report) -> int | None:
    """The exit status if the event is the last one; others are shown."""
    match event:
        case BenchFinished():
            return 0
        case Failed():
            report.note(event.error.message)
            return 2 if event.error.code is ErrorCode.BAD_REQUEST else 1
        case EngineDied():
            cause = event.cause or f"exit code {event.exit_code}"
            report.note(f"The engine died ({cause}). What was measured is reported; try another model file.")
            return 1
        case BenchProgress() | LoadProgress():
            report.show(event)
    return None


def this_machine() -> Machine:
    """The machine as it is now; how fast it reads memory is measured if it never was (up to 3 s)."""
    from engine.client import probe_backend
    from engine.memory.bandwidth import BandwidthStore, measure_bandwidth, with_bandwidth
    from engine.memory.calibration import CalibrationStore
    from engine.memory.hardware import read_hardware

    hardware = read_hardware(probe_backend().devices)
    try:
        store, calibrations = BandwidthStore(bandwidth_path()), CalibrationStore(calibrations_path())
    except KnownError:  # no folder to keep such things in
        return Machine(with_bandwidth(hardware, measure_bandwidth(hardware)))
    bandwidth = store.stored(hardware)
    if store.wants_more(hardware):
        measured = measure_bandwidth(hardware)
        bandwidth = store.keep(hardware, measured) if measured else bandwidth
    return Machine(with_bandwidth(hardware, bandwidth), calibrations)
