"""A benchmark: the cells of a grid are measured one after the other, each told as soon as it is.

`Bench` goes in; `BenchProgress` comes out before each run, a `BenchResult` after each case, `BenchFinished`
at the end. Prompts and replies are measured as `llama-bench` measures them, a chat from outside, through a
worker of its own. Promises: what was measured is told, also of a case in the middle of which the run was
ended. Knows nothing about exports, or what speed was to be expected.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing

import psutil

from engine.llama.build_facts import machine
from engine.loading import open_backend
from engine.measure.bench_chat import ClientFactory
from engine.measure.bench_compute import peak_operations
from engine.measure.bench_loads import Loads, Settlement
from engine.measure.bench_noise import NoiseMeter
from engine.measure.bench_pace import Pace
from engine.measure.bench_pass import Cancelled, DepthState
from engine.measure.bench_work import ChatWork, PassWork, Work
from engine.protocol import Bench, BenchFinished, BenchProgress, BenchResult, Event


def bench(
    command: Bench,
    put: Callable[[Event], None],
    is_cancelled: Callable[[], bool],
    make_client: ClientFactory,
) -> None:
    """Carry out `command`; `is_cancelled` is asked before each decode and ends the run.

    `make_client` starts the worker that a chat is measured with.

    Raises BadRequest for values that make no sense for this model; ModelFileError or ModelLoadError for one
    that cannot be loaded.
    """
    with ExitStack() as resources:
        loads = Loads(command.path, open_backend(resources), put)
        resources.callback(loads.close)
        for case in command.cases:
            loads.check(case)
        run = _Run(command, loads, put, is_cancelled, make_client)
        try:
            for index in range(len(command.cases)):
                run.measure(index)
        except Cancelled:
            put(BenchFinished(aborted=True))
        else:
            put(BenchFinished(aborted=False))


class _Run:
    """The cases of one run, in their order."""

    def __init__(
        self,
        command: Bench,
        loads: Loads,
        put: Callable[[Event], None],
        is_cancelled: Callable[[], bool],
        make_client: ClientFactory,
    ) -> None:
        self._command = command
        self._loads = loads
        self._put = put
        self._is_cancelled = is_cancelled
        self._make_client = make_client
        self._machine = machine()
        self._pace = Pace(command.cases, command.repetitions, command.warm_up)
        self._peaks: dict[int, float | None] = {}
        self._depth_state: DepthState | None = None

    def measure(self, index: int) -> None:
        """Measure a case and tell the result. Raises Cancelled, after that too."""
        settlement = self._loads.settle(self._command.cases[index])
        self._tell(index)
        with closing(self._open(settlement)) as work:
            if self._command.warm_up:
                work.warm_up()
                self._pace.done(settlement.case, 0.0)
            self._repeat(index, settlement, work)
            self._depth_state = work.depth_state

    def _open(self, settlement: Settlement) -> Work:
        self._check()
        case = settlement.case
        if case.is_chat:
            n_questions = self._command.repetitions + int(self._command.warm_up)
            return ChatWork(self._loads, case, n_questions, self._make_client, self._check)
        return PassWork(self._loads, case, self._depth_state, self._check)

    def _check(self) -> None:
        if self._is_cancelled():
            raise Cancelled

    def _repeat(self, index: int, settlement: Settlement, work: Work) -> None:
        """All repetitions; a result comes also of some."""
        measurement = _Measurement(settlement, work)
        try:
            for _ in range(self._command.repetitions):
                self._tell(index)
                self._pace.done(settlement.case, measurement.repeat() / 1e9)
        finally:
            if measurement.samples_ns:
                self._put(self._result(measurement))

    def _tell(self, index: int) -> None:
        pace, cases = self._pace, self._command.cases
        progress = BenchProgress(
            cases[index], index, len(cases), pace.n_done, pace.n_total, pace.seconds_left
        )
        self._put(progress)

    def _result(self, measurement: _Measurement) -> BenchResult:
        settlement, work = measurement.settlement, measurement.work
        return BenchResult(
            case=work.case,
            kind=work.case.kind,
            model=work.placed.model,
            machine=self._machine,
            test_time=measurement.test_time,
            samples_ns=tuple(measurement.samples_ns),
            load_mode=settlement.load_mode,
            kv_bytes=work.placed.kv_bytes,
            peak_rss_bytes=measurement.peak_rss_bytes,
            vram_bytes=work.placed.vram_bytes,
            device=work.placed.device,
            peak_operations=self._peak(settlement.case.n_threads or 1) if work.placed.is_on_cpu else None,
            noise=measurement.meter.noise(),
            whole_path=work.whole_path(),
            aborted=len(measurement.samples_ns) < self._command.repetitions,
            notices=settlement.notices,
        )

    def _peak(self, n_threads: int) -> float | None:
        if n_threads not in self._peaks:
            self._peaks[n_threads] = peak_operations(n_threads)
        return self._peaks[n_threads]


class _Measurement:
    """The repetitions of one case, and what was going on around them."""

    def __init__(self, settlement: Settlement, work: Work) -> None:
        self.settlement = settlement
        self.work = work
        self.test_time = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.samples_ns: list[int] = []
        self.peak_rss_bytes = 0
        self._process = psutil.Process(work.pid)
        own = (None,) if work.pid is None else (None, work.pid)
        self.meter = NoiseMeter(own, has_card=bool(work.placed.vram_bytes))

    def repeat(self) -> int:
        """Once more; returns nanoseconds."""
        self.samples_ns.append(self.work.repeat())
        self.peak_rss_bytes = max(self.peak_rss_bytes, self._process.memory_info().rss)
        return self.samples_ns[-1]
