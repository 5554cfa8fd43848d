"""`weir quantize`: the words, what is told before, and every way that a run can end."""

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
from app.cli.machine import Machine
from app.cli.quantize import run_quantize
from app.cli.quantize_arguments import QuantizeOptions, quantize_options
from app.cli.quantize_output import QuantizeOutput, progress_line
from app.data.installed_model import Verification
from app.data.provenance import provenance_of
from engine.errors import EngineGone
from engine.protocol import (
    Command,
    EngineDied,
    ErrorCode,
    ErrorReport,
    Event,
    Failed,
    Quantize,
    QuantizeFinished,
    QuantizeProgress,
    QuantKind,
)
from tests.app.planned_machine import GIB, cpu, machine
from tests.generated_models import write_model

Answer = Callable[[Quantize], Sequence[Event]]


def this_machine(_note: object) -> Machine:
    return Machine(machine(cpu(10 * GIB)), None)


class ScriptedRun:
    """An engine that answers `Quantize` as the test says."""

    def __init__(self, answer: Answer) -> None:
        self.commands: list[Command] = []
        self.is_closed = False
        self._answer = answer

    def __call__(self, on_event: Callable[[Event], None]) -> ScriptedRun:
        self._on_event = on_event
        return self

    def send(self, command: Command) -> None:
        assert isinstance(command, Quantize)
        self.commands.append(command)
        for event in self._answer(command):
            self._on_event(event)

    def close(self) -> None:
        self.is_closed = True


def success(command: Quantize) -> Sequence[Event]:
    Path(command.target).write_bytes(b"whole")
    end = QuantizeFinished(command.target, 5, 2.0, "Q4_K_M", (("Q4_K", 4), ("F32", 1)), 3)
    return QuantizeProgress(0, 10, 0, 100), QuantizeProgress(5, 10, 50, 100, 61.0), end, EngineDied(0, "")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path / "home"))
    return str(write_model(tmp_path / "m-F16.gguf", n_tokens=2048, n_merges=100))


def run(options: QuantizeOptions, engine: ScriptedRun) -> int:
    return run_quantize(options, engine, this_machine)


# --- the words ------------------------------------------------------------------------------------


def options(*words: str) -> QuantizeOptions:
    return quantize_options(build_parser().parse_args(["quantize", *words]))


def test_every_option_arrives() -> None:
    asked = options("m.gguf", "--to", "q5_k_m", "-o", "out.gguf", "--force", "--threads", "2", "--json")
    assert asked == QuantizeOptions("m.gguf", QuantKind.Q5_K_M, "out.gguf", True, 2, True)
    assert options("m.gguf") == QuantizeOptions("m.gguf", QuantKind.Q4_K_M)


@pytest.mark.parametrize("words", [[], ["m", "--to", "Q9"], ["m", "--threads", "0"]])
def test_wrong_words_are_wrong_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        options(*words)
    assert stopped.value.code == 2


# --- ends -----------------------------------------------------------------------------------------


def test_the_path_is_all_that_goes_to_standard_output(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = ScriptedRun(success)
    assert run(QuantizeOptions(model), engine) == 0
    captured = capsys.readouterr()
    target = tmp_path / "home" / "models" / "quantized" / "m-Q4_K_M.gguf"
    assert captured.out == f"{target}\n"
    assert engine.commands == [Quantize(model, str(target))] and engine.is_closed
    assert [line.split()[0] for line in captured.err.splitlines()[:6]] == [
        *("before", "Quantization", "File", "Memory", "Speed", "Fits")
    ]
    assert "larger type" in captured.err


def test_the_new_model_is_known_as_made_here(model: str, tmp_path: Path) -> None:
    assert run(QuantizeOptions(model), ScriptedRun(success)) == 0
    known = provenance_of(tmp_path / "home" / "models" / "quantized" / "m-Q4_K_M.gguf")
    assert known is not None
    assert (known.verification, known.quantized_from) == (Verification.MADE_HERE, "m-F16")


@pytest.mark.parametrize(("output", "name"), [("", "m-Q4_K_M.gguf"), ("other.gguf", "other.gguf")])
def test_another_place_may_be_named(model: str, tmp_path: Path, output: str, name: str) -> None:
    engine = ScriptedRun(success)
    (tmp_path / "to").mkdir()
    assert run(QuantizeOptions(model, output=str(tmp_path / "to" / output)), engine) == 0
    assert (tmp_path / "to" / name).exists()
    assert [path.name for path in (tmp_path / "to").iterdir()] == [name]


def test_json_is_one_object_a_line(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(QuantizeOptions(model, as_json=True), ScriptedRun(success)) == 0
    plan, *progress, end = map(json.loads, capsys.readouterr().out.splitlines())
    assert plan["before"]["quantization"] == "F16"
    assert plan["after"]["file_bytes"] < plan["before"]["file_bytes"] / 2
    assert plan["after"]["predicted_tps"] > plan["before"]["predicted_tps"]
    assert [line["fraction"] for line in progress] == [0.0, 0.5]
    assert end["tensor_bytes"] == {"Q4_K": 4, "F32": 1} and end["path"].endswith("m-Q4_K_M.gguf")


def test_what_is_quantized_already_is_refused_without_an_engine(
    tmp_path: Path, starter_model: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = ScriptedRun(success)
    assert run(QuantizeOptions(str(starter_model), as_json=True), engine) == 1
    assert "quantized already (Q4_1)" in json.loads(capsys.readouterr().out)["error"]
    assert engine.commands == []


def test_a_missing_file_is_told(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(QuantizeOptions(model + "x"), ScriptedRun(success)) == 1
    assert "m-F16.ggufx is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (Failed(None, ErrorReport(ErrorCode.BAD_REQUEST, "There is no room.")), "There is no room."),
        (EngineDied(-6, "GGML_ASSERT(x) failed"), "GGML_ASSERT(x) failed"),
    ],
)
def test_failures_are_told(model: str, capsys: pytest.CaptureFixture[str], end: Event, words: str) -> None:
    assert run(QuantizeOptions(model), ScriptedRun(lambda _command: [end])) == 1
    captured = capsys.readouterr()
    assert words in captured.err and captured.out == ""


def test_an_engine_that_is_gone_is_told(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    def gone(_command: Quantize) -> Sequence[Event]:
        raise EngineGone("The engine has stopped.")

    assert run(QuantizeOptions(model), ScriptedRun(gone)) == 1
    assert "The engine has stopped." in capsys.readouterr().err


def test_ctrl_c_ends_it_and_leaves_nothing_half(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = 2**22 + 1  # no process has such a number

    def interrupted(command: Quantize) -> Sequence[Event]:
        target = Path(command.target)
        target.with_name(f".{target.name}.{gone}.part").write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGINT)
        return [QuantizeProgress(1, 10, 10, 100)]

    engine = ScriptedRun(interrupted)
    assert run(QuantizeOptions(model), engine) == 130
    assert "Nothing half is left" in capsys.readouterr().err
    assert engine.is_closed
    assert list((tmp_path / "home" / "models" / "quantized").iterdir()) == []


# --- the bar --------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_tells_how_far_it_is_and_what_is_left() -> None:
    line = progress_line(QuantizeProgress(5, 10, 50, 100, 61.0))
    assert line == "[############............]  50 %  5/10 tensors, 1:01 left"


def test_a_sentence_never_stands_in_the_bars_line() -> None:
    err = Terminal()
    output = QuantizeOutput(as_json=False, out=io.StringIO(), err=err)
    event = QuantizeProgress(5, 10, 50, 100)
    output.show(event)
    output.show(replace(event, n_done=6))
    output.note("Done.")
    *_, after = err.getvalue().split("\r")
    assert after == "weir: Done.\n"
