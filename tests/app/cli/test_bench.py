"""`weir bench`: the words and their grid, the rows on standard output, and every way that a run can end."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli.arguments import build_parser
from app.cli.bench import run_bench
from app.cli.bench_arguments import BenchOptions, bench_options
from app.cli.bench_progress import BenchProgressBar, progress_line
from app.data.bench_columns import COLUMNS
from app.data.bench_rating import Machine
from engine.errors import BadRequest, EngineGone
from engine.memory.calibration import CalibrationStore
from engine.memory.hardware import Device, Hardware
from engine.protocol import (
    Bench,
    BenchCase,
    BenchFinished,
    BenchKind,
    BenchMachine,
    BenchModel,
    BenchNoise,
    BenchProgress,
    BenchResult,
    Cancel,
    Command,
    EngineDied,
    ErrorCode,
    ErrorReport,
    Event,
    Failed,
    FlashAttention,
    KVType,
    LoadProgress,
)
from tests.conftest import SmallModels

CPU = Device("CPU", "A processor", "cpu", 8 * 2**30, 4 * 2**30, bandwidth=20e9)
MACHINE = Machine(Hardware("A processor", 2, 2, 8 * 2**30, 4 * 2**30, 0, 0, (CPU,)))
PROMPT, REPLY = BenchCase(n_prompt=512), BenchCase(n_gen=128)
OPTIONS = BenchOptions(cases=(PROMPT, REPLY), repetitions=2, output="json")


@pytest.fixture(autouse=True)
def weir_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))


@pytest.fixture
def options(small_models: SmallModels) -> BenchOptions:
    return replace(OPTIONS, models=(str(small_models()),))


def result(case: BenchCase, *samples_s: float, **more: object) -> BenchResult:
    measured = BenchResult(
        case=replace(case, n_threads=2, v_type=KVType.F16),
        kind=case.kind,
        model=BenchModel("/models/m.gguf", "llama 1M F16", 10**6, 10**6),
        machine=BenchMachine("abc", 0, "A processor", "", "CPU"),
        test_time="2026-01-31T12:00:00Z",
        samples_ns=tuple(round(1e9 * seconds) for seconds in samples_s),
        device="CPU",
        noise=BenchNoise(0.0, False, "mains"),
    )
    return replace(measured, **more)  # type: ignore[arg-type]


class ScriptedBench:
    """An engine that answers `Bench`, and then each `Cancel`, with the next list of events."""

    def __init__(self, *answers: Sequence[Event], before_answer: Callable[[], object] = lambda: None) -> None:
        self.commands: list[Command] = []
        self.is_closed = False
        self._answers = list(answers)
        self._before_answer = before_answer

    def __call__(self, on_event: Callable[[Event], None]) -> ScriptedBench:
        self._on_event = on_event
        return self

    def send(self, command: Command) -> None:
        self.commands.append(command)
        if isinstance(command, Bench):
            self._before_answer()
        for event in self._answers.pop(0):
            self._on_event(event)

    def close(self) -> None:
        self.is_closed = True


def run(options: BenchOptions, engine: ScriptedBench, machine: Machine = MACHINE) -> int:
    return run_bench(options, engine, lambda: machine)


# --- the words ------------------------------------------------------------------------------------


def asked(*words: str) -> BenchOptions:
    return bench_options(build_parser().parse_args(["bench", *words]))


def test_no_words_are_llama_benchs_defaults_and_a_chat() -> None:
    options = asked()
    cases = (PROMPT, REPLY, BenchCase(512, 128, is_chat=True))
    assert options.cases == tuple(replace(case, v_type=KVType.F16) for case in cases)
    assert (options.repetitions, options.warm_up, options.output) == (5, True, "md")


def test_every_word_arrives_at_the_engine() -> None:
    words = "m.gguf -p 0 -n 64 -d 7 -r 3 -t 2 -ngl 9 -fa 1 -ctk q8_0 -ctv q4_0 -b 256 -ub 128 --no-warmup"
    case = BenchCase(0, 64, 7, 256, 128, KVType.Q8_0, KVType.Q4_0, FlashAttention.ON, 2, 9)
    assert asked(*words.split()).command("/m.gguf") == Bench("/m.gguf", (case,), 3, warm_up=False)


def test_lists_give_the_grid_in_llama_benchs_order() -> None:
    cases = asked("-p", "1,2", "-n", "3", "-d", "0,9", "-t", "1,2", "-pg", "5,6", "--no-chat").cases
    shapes = [(case.n_threads, case.n_depth, case.n_prompt, case.n_gen) for case in cases]
    tests = [(1, 0), (2, 0), (0, 3), (5, 6)]
    assert shapes == [(t, d, *test) for t in (1, 2) for d in (0, 9) for test in tests]


def test_chats_come_last_of_each_load() -> None:
    cases = asked("-p", "8", "-n", "4", "-d", "0,9", "-ngl", "0,1").cases
    assert [case.is_chat for case in cases] == [False] * 4 + [True] * 2 + [False] * 4 + [True] * 2
    assert [case.n_gpu_layers for case in cases] == [0] * 6 + [1] * 6


@pytest.mark.parametrize("words", ["-p -1", "-p x", "-r 0", "-fa 2", "-ctk q9", "-o xml", "-pg 5", "-t 0"])
def test_wrong_words_are_wrong_usage(words: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        asked(*words.split())
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("-fa 2", "'2' is not 0, 1 or auto"),
        ("-ctk q9", "choose from f16, q8_0, q4_0"),
        ("-p x", "'x' is no whole number of 0 or more"),
        ("-pg 5", "'5' is no pair of a prompt and a reply"),
        ("-p 9-3", "9-3 is no range"),
        ("-p 1-9*1", "is no range"),
    ],
)
def test_wrong_words_are_told_in_plain_words(
    words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        asked(*words.split())
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("16-32+16", [16, 32]), ("16-128*2", [16, 32, 64, 128]), ("1-3,9", [1, 2, 3, 9])],
)
def test_ranges_are_llama_benchs(text: str, numbers: list[int]) -> None:
    assert [case.n_prompt for case in asked("-p", text, "-n", "0").cases] == numbers


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(BadRequest, match="path is empty"):
        asked("")


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(BadRequest, match="nothing to measure"):
        asked("-p", "0", "-n", "0").command("m")


# --- rows -----------------------------------------------------------------------------------------

DONE: list[Event] = [
    result(PROMPT, 1.0, 2.0),
    result(REPLY, 2.0, 1.0),
    BenchFinished(False),
    EngineDied(0, ""),
]


def test_json_is_all_that_goes_to_standard_output(
    options: BenchOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = ScriptedBench([LoadProgress(1.0), BenchProgress(PROMPT, 0, 2, 0, 4), *DONE])
    assert run(options, engine) == 0
    captured = capsys.readouterr()
    rows = json.loads(captured.out)
    assert [(row["test_kind"], row["median_ts"]) for row in rows] == [("pp", 384), ("tg", 96)]
    assert rows[0]["model_filename"] == "m.gguf" and captured.err == ""
    assert engine.commands == [Bench(options.models[0], OPTIONS.cases, 2)] and engine.is_closed


def test_jsonl_comes_row_by_row(options: BenchOptions, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(replace(options, output="jsonl"), ScriptedBench(DONE)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["n_gen"] for line in lines] == [0, 128]


def test_several_models_are_one_report(options: BenchOptions, capsys: pytest.CaptureFixture[str]) -> None:
    several = replace(options, models=options.models * 2, output="csv")
    assert run(several, ScriptedBench(DONE, DONE)) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 4 and tuple(rows[0]) == COLUMNS


def test_doubts_and_notices_go_to_standard_error(
    options: BenchOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    noisy = result(REPLY, 1.0, noise=BenchNoise(60.0, None, "battery"), notices=("V is f16.",))
    assert run(options, ScriptedBench([noisy, noisy, BenchFinished(False)])) == 0
    told = capsys.readouterr().err.splitlines()
    assert [line.count("V is f16.") for line in told].count(1) == 1
    assert sum("60 % of a core" in line for line in told) == 2


def test_a_measured_speed_makes_the_next_expectation_exact(
    options: BenchOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = replace(MACHINE, calibrations=CalibrationStore(tmp_path / "calibrations.json"))
    answers: list[Event] = [result(REPLY, 1.0), result(replace(REPLY, n_depth=8), 1.0), BenchFinished(False)]
    assert run(options, ScriptedBench(answers), machine) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["predicted_ts"] != second["predicted_ts"]
    assert second["predicted_ts"] == pytest.approx(128, rel=0.15)
    assert isinstance(first["bytes_per_token"], int) and first["bandwidth_gbs"] == 20


def test_a_noisy_measurement_teaches_nothing(
    options: BenchOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = replace(MACHINE, calibrations=CalibrationStore(tmp_path / "calibrations.json"))
    noisy = result(REPLY, 1.0, noise=BenchNoise(20.0))
    assert run(options, ScriptedBench([noisy, noisy, BenchFinished(False)]), machine) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["predicted_ts"] == second["predicted_ts"]


# --- ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "status"), [(ErrorCode.BAD_REQUEST, 2), (ErrorCode.MODEL_LOAD, 1)])
def test_a_failure_keeps_what_was_measured(
    options: BenchOptions, capsys: pytest.CaptureFixture[str], code: ErrorCode, status: int
) -> None:
    engine = ScriptedBench([result(PROMPT, 1.0), Failed(None, ErrorReport(code, "It cannot be."))])
    assert run(options, engine) == status
    captured = capsys.readouterr()
    assert (
        len(json.loads(captured.out)) == 1
        and captured.err == "weir: It cannot be.\nweir: aborted: 1 of 2 cases were measured.\n"
    )
    assert engine.is_closed


def test_a_dead_engine_keeps_what_was_measured(
    options: BenchOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(options, ScriptedBench([result(PROMPT, 1.0), EngineDied(-6, "GGML_ASSERT(x)")])) == 1
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)) == 1 and "GGML_ASSERT(x)" in captured.err


def test_a_missing_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = ScriptedBench()
    assert run(replace(OPTIONS, models=(str(tmp_path / "none.gguf"),)), engine) == 1
    captured = capsys.readouterr()
    assert captured.out == "[]\n" and captured.err.startswith("weir: none.gguf is missing")


def test_an_engine_that_is_gone_at_once_is_status_1(
    options: BenchOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone() -> None:
        raise EngineGone("The engine has stopped.")

    assert run(options, ScriptedBench(before_answer=gone)) == 1
    captured = capsys.readouterr()
    assert captured.out == "[]\n" and captured.err.startswith("weir: The engine has stopped.\n")


def test_ctrl_c_keeps_what_was_measured_and_says_aborted(
    options: BenchOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[Event] = [result(PROMPT, 1.0, aborted=True), BenchFinished(True)]
    engine = ScriptedBench(
        [result(REPLY, 1.0, 1.0)], answers, before_answer=lambda: os.kill(os.getpid(), signal.SIGINT)
    )
    assert run(options, engine) == 130
    captured = capsys.readouterr()
    assert [row["aborted"] for row in json.loads(captured.out)] == [False, True]
    assert "aborted after 1 repetition" in captured.err
    assert isinstance(engine.commands[-1], Cancel) and engine.is_closed


@pytest.mark.parametrize(("form", "out"), [("json", "[]\n"), ("csv", ",".join(COLUMNS) + "\n")])
def test_nothing_measured_is_an_empty_report_and_told(
    options: BenchOptions, capsys: pytest.CaptureFixture[str], form: str, out: str
) -> None:
    engine = ScriptedBench(
        [], [BenchFinished(True)], before_answer=lambda: os.kill(os.getpid(), signal.SIGINT)
    )
    assert run(replace(options, output=form), engine) == 130
    assert capsys.readouterr() == (out, "weir: aborted: 0 of 2 cases were measured.\n")


def test_a_second_ctrl_c_says_how_much_is_missing(
    options: BenchOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    class Impatient(ScriptedBench):
        def send(self, command: Command) -> None:
            super().send(command)
            os.kill(os.getpid(), signal.SIGINT)

    assert run(options, Impatient([result(PROMPT, 1.0, 1.0)], [])) == 130
    captured = capsys.readouterr()
    rows = json.loads(captured.out)
    assert [(row["aborted"], row["missing_cases"]) for row in rows] == [(True, 1)]
    assert captured.err == "weir: aborted: 1 of 2 cases were measured.\n"


def test_a_bad_model_does_not_end_the_others(
    options: BenchOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    several = replace(options, models=(str(tmp_path / "none.gguf"), *options.models), output="md")
    assert run(several, ScriptedBench(DONE)) == 1
    captured = capsys.readouterr()
    assert "none.gguf is missing" in captured.err and "2 of 4 cases were measured" in captured.err
    assert "tg128" in captured.out and "aborted: 2 of 4 cases were measured." in captured.out


def test_doubts_name_the_model_where_there_are_several(
    options: BenchOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    noisy: list[Event] = [result(REPLY, 1.0, noise=BenchNoise(60.0)), BenchFinished(False)]
    run(replace(options, models=options.models * 2, cases=(REPLY,)), ScriptedBench(noisy, noisy))
    assert capsys.readouterr().err.count("weir: m.gguf, tg128: other programs") == 2


def test_closed_standard_output_is_status_1(
    options: BenchOptions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert run(options, ScriptedBench(DONE)) == 1
    assert "Standard output is closed" in capsys.readouterr().err


# --- progress -------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_tells_what_is_measured_and_the_time_left() -> None:
    line = progress_line(BenchProgress(replace(REPLY, n_depth=512), 1, 2, 3, 6, 65.4))
    assert line == "[############............] 3/6 tg128 @ d512, 1:05 left"
    assert progress_line(BenchProgress(PROMPT, 0, 2, 0, 6)).endswith("0/6 pp512")


def test_a_sentence_never_stands_in_the_bars_line() -> None:
    terminal = Terminal()
    bar = BenchProgressBar(terminal)
    bar.show(BenchProgress(PROMPT, 0, 2, 0, 6))
    bar.note("Something.")
    assert terminal.getvalue().endswith(" \rweir: Something.\n")


def test_without_a_terminal_there_is_no_bar() -> None:
    pipe = io.StringIO()
    BenchProgressBar(pipe).show(BenchProgress(PROMPT, 0, 2, 0, 6))
    assert pipe.getvalue() == ""


def test_kinds_follow_from_the_numbers() -> None:
    kinds = [case.kind for case in asked("-pg", "1,2").cases]
    assert kinds == [BenchKind.PROMPT, BenchKind.GENERATION, BenchKind.BOTH, BenchKind.CHAT]
