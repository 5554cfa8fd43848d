"""`weir endure`: the words, the figures on standard output, and every way that a run can end."""

from __future__ import annotations

import io
import json
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli.arguments import build_parser
from app.cli.endure import Progress, run_endure
from app.cli.endure_arguments import EndureOptions, endure_options
from engine.errors import EngineGone
from engine.protocol import (
    Cancel,
    Command,
    EnduranceProgress,
    EnduranceRun,
    Endure,
    EngineDied,
    ErrorCode,
    ErrorReport,
    Event,
    Failed,
    KVType,
    LoadProgress,
    Shift,
)
from tests.app.data.test_endurance_export import REPORT

OPTIONS = EndureOptions(model="model.gguf", n_tokens=2500, output="json")


@pytest.fixture(autouse=True)
def weir_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))


def progress(n_done: int, n_total: int = 2500) -> EnduranceProgress:
    return EnduranceProgress(n_done, n_total, (13.25,), 312.5, 200 * 2**20, 0, 6)


class ScriptedRun:
    """An engine that answers `Endure`, and then each `Cancel`, with the next list of events."""

    def __init__(self, *answers: Sequence[Event], before_answer: Callable[[], object] = lambda: None) -> None:
        self.commands: list[Command] = []
        self.is_closed = False
        self._answers = list(answers)
        self._before_answer = before_answer

    def __call__(self, on_event: Callable[[Event], None]) -> ScriptedRun:
        self._on_event = on_event
        return self

    def send(self, command: Command) -> None:
        self.commands.append(command)
        if isinstance(command, Endure):
            self._before_answer()
        for event in self._answers.pop(0):
            self._on_event(event)

    def close(self) -> None:
        self.is_closed = True


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupt_twice() -> None:
    interrupt()
    interrupt()


# --- the words ------------------------------------------------------------------------------------


def options(*words: str) -> EndureOptions:
    return endure_options(build_parser().parse_args(["endure", *words]))


def test_every_option_arrives_at_the_engine() -> None:
    words = "m.gguf --ctx 512 --tokens 900 --sinks 0 --policy window --shift eager --kv-type q8_0"
    asked = options(*words.split(), *["--text", "a.txt", "--threads", "2", "-o", "csv"])
    assert asked.output == "csv"
    assert asked.command("/m.gguf") == Endure(
        "/m.gguf", 512, 900, 0, EnduranceRun.WINDOW, Shift.EAGER, KVType.Q8_0, "a.txt", 2
    )


def test_no_options_are_the_engines_own_defaults() -> None:
    assert options().command("m") == Endure("m", n_ctx=1024)


@pytest.mark.parametrize("words", [["--tokens", "0"], ["--policy", "stop"], ["-o", "xml"], ["--ctx", "big"]])
def test_wrong_words_are_wrong_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        options(*words)
    assert stopped.value.code == 2


# --- ends -----------------------------------------------------------------------------------------


def test_the_report_is_all_that_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    engine = ScriptedRun([LoadProgress(1.0), progress(0), progress(1500), REPORT, EngineDied(0, "")])
    assert run_endure(OPTIONS, engine) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["evictions"] == 6
    assert captured.err == ""
    assert engine.commands == [Endure("model.gguf", 1024, 2500)] and engine.is_closed


def test_a_short_text_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_endure(OPTIONS, ScriptedRun([progress(0, 700), progress(700, 700), REPORT])) == 0
    assert capsys.readouterr().err.splitlines() == [
        "weir: the text has only 700 of the 2,500 tokens; all of it is read."
    ]


@pytest.mark.parametrize(("code", "status"), [(ErrorCode.BAD_REQUEST, 2), (ErrorCode.MODEL_LOAD, 1)])
def test_a_refusal_is_one_sentence(capsys: pytest.CaptureFixture[str], code: ErrorCode, status: int) -> None:
    engine = ScriptedRun([Failed(None, ErrorReport(code, "It cannot be."))])
    assert run_endure(OPTIONS, engine) == status
    assert capsys.readouterr() == ("", "weir: It cannot be.\n")
    assert engine.is_closed


def test_a_dead_engine_is_status_1_with_its_last_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_endure(OPTIONS, ScriptedRun([progress(0), EngineDied(-6, "GGML_ASSERT(x)")])) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "GGML_ASSERT(x)" in captured.err


def test_an_engine_that_is_gone_at_once_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    def gone() -> None:
        raise EngineGone("The engine has stopped.")

    assert run_endure(OPTIONS, ScriptedRun(before_answer=gone)) == 1
    assert capsys.readouterr().err == "weir: The engine has stopped.\n"


def test_ctrl_c_keeps_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    engine = ScriptedRun([progress(0)], [REPORT], before_answer=interrupt)
    before = signal.getsignal(signal.SIGINT)
    assert run_endure(OPTIONS, engine) == 130
    assert json.loads(capsys.readouterr().out)["n_tokens"] == 2500
    assert isinstance(engine.commands[1], Cancel)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("n_done", "says"),
    [(62, "stopped after 62 of 20,000 tokens; the figures are"), (0, "0 of 20,000 tokens; there is nothing")],
)
def test_a_run_that_was_stopped_says_so(capsys: pytest.CaptureFixture[str], n_done: int, says: str) -> None:
    report = replace(REPORT, n_tokens=n_done)
    engine = ScriptedRun([progress(0, 20_000)], [report], before_answer=interrupt)
    assert run_endure(replace(OPTIONS, n_tokens=20_000), engine) == 130
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == "" if not n_done else json.loads(captured.out)["n_tokens"] == n_done


def test_a_short_text_that_is_read_to_its_end_was_not_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    report = replace(REPORT, n_tokens=700)
    assert run_endure(OPTIONS, ScriptedRun([progress(0, 700), report])) == 0
    assert "stopped" not in capsys.readouterr().err


def test_a_second_ctrl_c_ends_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    engine = ScriptedRun([progress(0)], before_answer=interrupt_twice)
    assert run_endure(OPTIONS, engine) == 130
    assert capsys.readouterr() == ("", "")
    assert engine.is_closed


# --- progress -------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_is_overwritten_and_cleared() -> None:
    err = Terminal()
    shown = Progress(2500, err)
    shown.show(LoadProgress(0.5))
    shown.show(progress(1500))
    line = "1,500 of 2,500 tokens, 312 tokens/s, perplexity 13.25, 200 MiB"
    assert err.getvalue().endswith(f"\r{line}") and "\n" not in err.getvalue()
    shown.clear()
    assert err.getvalue().endswith(f"\r{' ' * len(line)}\r")


def test_a_pipe_gets_plain_lines_and_not_for_every_event() -> None:
    err = io.StringIO()
    shown = Progress(2500, err, seconds_between_lines=60)
    shown.show(progress(500))
    assert err.getvalue() == ""
    shown = Progress(2500, err, seconds_between_lines=0)
    shown.show(progress(500))
    assert err.getvalue() == "500 of 2,500 tokens, 312 tokens/s, perplexity 13.25, 200 MiB\n"
