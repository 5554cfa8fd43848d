from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app import __main__ as weir
from app.cli import machine as machine_of_ours
from app.cli import plan as command
from app.cli.last_words import cause_in_words
from app.cli.plan_arguments import PlanOptions
from app.cli.plan_table import bar
from engine.dry_run import Refused
from engine.memory.bandwidth import CPUBandwidth
from engine.memory.hardware import Hardware
from engine.memory.memory_plan import DevicePlan
from engine.protocol import (
    BackendReport,
    Command,
    DeviceBuffers,
    EngineDied,
    ErrorCode,
    ErrorReport,
    Event,
    Failed,
    Finished,
    FinishReason,
    Generate,
    LoadModel,
    ModelLoaded,
)
from tests.app.cli.scripted_engine import INFO, STATS
from tests.engine.memory.planned_models import card, machine
from tests.engine.models.written_facts import blocks, zeros
from tests.model_files import TokenizerFields, write_network
from tests.synthetic_models import Network

REQUIRED = {
    "n_ctx",
    "n_gpu_layers",
    "kv_type",
    "weights_bytes",
    "kv_bytes",
    "compute_bytes",
    "total_bytes",
    "available_bytes",
    "fits",
    "predicted_tps",
    "reasons",
}
WEIGHTS, KV = 96_576_768, 188_743_680

Run = Callable[..., dict[str, object]]


class LoadingEngine:
    """Answers a load with one event, and what is asked then with 48 tokens at 25 a second."""

    def __init__(self, on_event: Callable[[Event], None], answer: Event) -> None:
        self._on_event, self._answer = on_event, answer
        self.closed = False
        self.loads: list[Command] = []

    def send(self, command: Command) -> None:
        if isinstance(command, Generate):
            stats = replace(STATS, tokens_generated=48, decode_tps=25.0, kv_cells_used=60)
            self._on_event(Finished(command.request_id, FinishReason.LENGTH, "Rivers", stats))
        else:
            self.loads.append(command)
            self._on_event(self._answer)

    def close(self) -> None:
        self.closed = True


class LoadingEngines:
    """Makes them, and remembers them."""

    def __init__(self, answer: Event) -> None:
        self._answer = answer
        self.made: list[LoadingEngine] = []

    def __call__(self, on_event: Callable[[Event], None]) -> LoadingEngine:
        self.made.append(LoadingEngine(on_event, self._answer))
        return self.made[-1]


@pytest.fixture(autouse=True)
def this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Hardware], None]:
    """A machine of the test's own, without a backend process and without dry runs."""

    def have(hardware: Hardware) -> None:
        monkeypatch.setattr(machine_of_ours, "read_hardware", lambda devices: hardware)

    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    monkeypatch.setattr(machine_of_ours, "probe_backend", lambda: BackendReport("0", "", ()))
    monkeypatch.setattr(machine_of_ours, "measure_processor", lambda hardware: None)
    monkeypatch.setattr(command, "try_out", lambda path, shape: None)
    have(machine())
    return have


@pytest.fixture
def run(starter_model: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def plan(*words: str) -> dict[str, object]:
        assert weir.main(["plan", str(starter_model), "--json", *words]) == 0
        out = capsys.readouterr().out
        assert out.count("\n") == 1
        found = json.loads(out, parse_constant=pytest.fail)
        assert isinstance(found, dict)
        return found

    return plan


def test_json_is_one_strict_object(run: Run) -> None:
    found = run()
    assert found.keys() >= REQUIRED
    assert "audit" not in found
    assert (found["weights_bytes"], found["kv_bytes"], found["fits"]) == (WEIGHTS, KV, True)
    assert (found["n_ctx"], found["n_gpu_layers"], found["kv_type"]) == (8192, 0, "f16")
    assert found["available_bytes"] == 24 * 2**30
    total, process = found["total_bytes"], found["process_bytes"]
    assert isinstance(total, int) and isinstance(process, int) and total > WEIGHTS + KV
    needed = total + process
    assert found["reasons"] == [f"Fits: {needed / 2**30:.1f} of 24.0 GiB of free RAM."]


def test_options_reach_the_plan(run: Run, this_machine: Callable[[Hardware], None]) -> None:
    this_machine(machine(card(8, 7)))
    found = run("--ctx", "2048", "--kv-type", "q8_0", "--gpu-layers", "10")
    assert (found["n_ctx"], found["n_gpu_layers"], found["kv_type"]) == (2048, 10, "q8_0")
    assert found["kv_bytes"] == 2048 * 12_240
    devices = found["devices"]
    assert isinstance(devices, list)
    assert [device["device"] for device in devices] == ["CUDA0", "CPU"]
    assert run()["n_gpu_layers"] == 31


def test_options_of_loading_reach_the_plan(run: Run) -> None:
    found = run("--kv-type", "q8_0", "-fa", "off", "-b", "256", "-ub", "64")
    assert (found["kv_type"], found["v_type"], found["flash_attention"]) == ("q8_0", "f16", "off")
    assert (found["n_batch"], found["n_ubatch"]) == (256, 64)
    assert found["kv_bytes"] == 8192 * 30 * 6 * (34 + 64)
    reasons = found["reasons"]
    assert isinstance(reasons, list)
    assert "V can be quantized only with flash attention" in reasons[-1]


def test_model_that_does_not_fit_is_an_answer_and_no_failure(
    run: Run, this_machine: Callable[[Hardware], None]
) -> None:
    this_machine(machine(ram_gib=1, available_gib=0.25))
    found = run()
    assert (found["fits"], found["verdict"]) == (False, "does_not_fit")


def test_table_tells_verdict_and_parts(starter_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert weir.main(["plan", str(starter_model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    needed = next(line for line in lines if line.startswith("Needed")).split()
    assert needed[2:] == ["MiB", "of", "24.0", "GiB"]
    assert lines[1] == f"Fits: {int(needed[1]) / 1024:.1f} of 24.0 GiB of free RAM."
    assert "Context          8,192 tokens as f16" in lines
    assert any(line.startswith("[WK") and line.endswith("]") for line in lines)
    assert any(line.startswith("weights 92 MiB, KV cache 180 MiB, buffers ") for line in lines)


def test_bar_shows_every_part_and_never_grows() -> None:
    device = DevicePlan("CPU", weights=50, kv=25, state=0, compute=1, total=100, free=90, used_by_others=None)
    assert bar(device, 100, width=20) == "W" * 10 + "K" * 5 + "B" + "o" * 2 + "." * 2
    assert len(bar(replace(device, weights=10**22), 100, width=20)) == 20


def test_bar_of_too_little_memory_shows_where_it_ends() -> None:
    device = DevicePlan("CPU", weights=130, kv=40, state=0, compute=1, total=100, free=71, used_by_others=0)
    # 200 in all: half of the bar is the memory that there is.
    assert bar(device, 100, width=20) == "WWWWWWWWWW|WWKKKKBoo"


def test_sizes_are_told_once_and_the_bar_is_as_wide_as_the_terminal(
    starter_model: Path,
    this_machine: Callable[[Hardware], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    this_machine(machine(ram_gib=1, available_gib=0.25))
    monkeypatch.setenv("COLUMNS", "44")
    assert weir.main(["plan", str(starter_model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    needed = next(line for line in lines if line.startswith("Needed")).split()[1]
    assert lines[1].startswith(f"Does not fit: it needs {needed} MiB in RAM")
    assert f"CPU  {needed} MiB of 1.0 GiB" in lines
    assert [len(line) for line in lines if line.startswith("[")] == [44]


@pytest.mark.parametrize("n_ctx", ["9999999999999", "99999999999999999999"])
def test_impossible_context_has_no_sizes(
    starter_model: Path, capsys: pytest.CaptureFixture[str], n_ctx: str
) -> None:
    assert weir.main(["plan", str(starter_model), "--ctx", n_ctx]) == 0
    out = capsys.readouterr().out
    assert "tokens is not possible: the model was trained for 8,192." in out
    assert "Needed" not in out
    assert "[" not in out


def test_context_is_told_as_it_is_made(run: Run) -> None:
    found = run("--ctx", "300")
    assert (found["n_ctx"], found["n_ctx_asked"], found["kv_bytes"]) == (512, 300, 512 * KV // 8192)


@pytest.mark.parametrize("name", ["cut-half", "blocks-513", "cut-4"])
def test_broken_file_is_a_failure(
    bad_files: Mapping[str, Path], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert weir.main(["plan", str(bad_files[name]), "--json"]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"weir: {name}.gguf ")
    assert json.loads(out) == {"error": err.removeprefix("weir: ").rstrip("\n")}


@pytest.mark.parametrize("name", ["", "x" * 5000, "a\0b"])
def test_what_is_no_name_of_a_file_is_a_sentence(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["plan", name], ["inspect", name]):
        assert weir.main(words) == 1
        out, err = capsys.readouterr()
        assert (out, err.count("\n"), err.startswith("weir: ")) == ("", 1, True)
        assert len(err) < 250


def test_machine_that_allows_no_more_files_is_a_sentence(
    starter_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_arguments: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(command, "try_out", refuse)
    assert weir.main(["plan", str(starter_model)]) == 1
    assert capsys.readouterr().err == "weir: This machine could not be asked: Too many open files.\n"


def test_folder_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert weir.main(["plan", str(tmp_path)]) == 1
    assert "is a folder" in capsys.readouterr().err


def test_file_that_cannot_chat_is_told_so(
    bad_files: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert weir.main(["plan", str(bad_files["projector-named-chat"]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["fits"], found["verdict"]) == (False, "cannot_chat")
    assert "is a projector" in found["reasons"][0]


def test_file_that_llama_cpp_refuses_is_told_with_its_reason(
    starter_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "try_out", lambda path, shape: Refused("It is of an unknown kind."))
    assert weir.main(["plan", str(starter_model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["fits"], found["reasons"]) == (False, ["It is of an unknown kind."])


@pytest.mark.parametrize(
    "words",
    [["--ctx", "0"], ["--ctx", "9" * 40], ["--gpu-layers", "-2"], ["--kv-type", "f32"], ["--ctx", "x"]],
)
def test_wrong_words_are_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        weir.main(["plan", "m.gguf", *words])
    assert ended.value.code == 2
    assert "usage: weir plan" in capsys.readouterr().err


# --- audit ---


def audited(
    starter: Path, answer: Event, capsys: pytest.CaptureFixture[str]
) -> tuple[int, object, LoadingEngines]:
    engines = LoadingEngines(answer)
    status = command.run_plan(PlanOptions(str(starter), as_json=True, audits=True), engines)
    return status, json.loads(capsys.readouterr().out)["audit"], engines


def test_audit_compares_with_what_was_loaded(starter_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The log says 92.10 MiB, which is 2,918 bytes less; and 1 % more of cache than planned.
    buffers = (DeviceBuffers("CPU", 96_573_850, KV * 100 // 99, 0),)
    loaded = ModelLoaded(replace(INFO, buffers=buffers), 5.0)
    status, found, engines = audited(starter_model, loaded, capsys)
    assert status == 0
    assert isinstance(found, dict)
    assert found["weights"] == {"predicted_bytes": WEIGHTS, "allocated_bytes": 96_573_850, "error_pct": 0.0}
    assert found["kv"]["error_pct"] == pytest.approx(-1.0, abs=0.001)
    assert (found["compute"]["allocated_bytes"], found["compute"]["error_pct"]) == (0, None)
    (engine,) = engines.made
    assert engine.closed
    assert engine.loads == [LoadModel(str(starter_model), n_ctx=8192, n_gpu_layers=0)]


def test_load_that_fails_is_told_beside_the_plan(
    starter_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = Failed(None, ErrorReport(ErrorCode.MODEL_LOAD, "No memory."))
    engines = LoadingEngines(failed)
    assert command.run_plan(PlanOptions(str(starter_model), as_json=True, audits=True), engines) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["audit"] is None
    assert err == "weir: No memory.\n"
    assert engines.made[0].closed


def test_what_does_not_fit_is_never_loaded(
    starter_model: Path, this_machine: Callable[[Hardware], None], capsys: pytest.CaptureFixture[str]
) -> None:
    this_machine(machine(ram_gib=1, available_gib=0.25))
    status, found, engines = audited(starter_model, ModelLoaded(INFO, 5.0), capsys)
    assert (status, found, engines.made) == (1, None, [])


# --- speed ---


def measured_machine() -> Hardware:
    """One whose memory is known already."""
    return machine(bandwidth=40e9)


def test_speed_is_told_for_an_empty_and_a_full_context(
    run: Run,
    this_machine: Callable[[Hardware], None],
    starter_model: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    this_machine(measured_machine())
    found = run()
    figures = [found[name] for name in ("predicted_tps", "limit_tps", "predicted_full_tps", "limit_full_tps")]
    empty, limit, full, full_limit = (float(str(figure)) for figure in figures)
    assert full < empty < limit and full < full_limit < limit
    assert found["is_speed_measured"] is False
    assert weir.main(["plan", str(starter_model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    [at] = [number for number, line in enumerate(lines) if line.startswith("Speed")]
    assert lines[at].endswith(
        f"about {empty:,.0f} tokens/s in a short chat, {full:,.0f} when the context is full"
    )
    assert "estimated" in lines[at + 2]


def test_speed_that_is_not_known_says_what_to_do(
    starter_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert weir.main(["plan", str(starter_model)]) == 0
    assert "`weir doctor --bandwidth`" in capsys.readouterr().out


def test_machine_is_measured_once_when_a_plan_needs_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    measurements = [CPUBandwidth(12e9, 22e9)]
    monkeypatch.setattr(machine_of_ours, "measure_processor", lambda _hardware: measurements.pop())
    found = run()
    assert found["predicted_tps"] and found["limit_tps"]
    assert run()["limit_tps"] == found["limit_tps"]
    assert measurements == []


def test_audit_measures_the_speed_and_calibrates(
    starter_model: Path, this_machine: Callable[[Hardware], None], capsys: pytest.CaptureFixture[str]
) -> None:
    this_machine(measured_machine())
    buffers = (DeviceBuffers("CPU", WEIGHTS, KV, 0),)
    loaded = ModelLoaded(replace(INFO, path=str(starter_model), buffers=buffers), 5.0)
    engines = LoadingEngines(loaded)
    assert command.run_plan(PlanOptions(str(starter_model), audits=True), engines) == 0
    assert "predicted, 25 tokens/s measured" in capsys.readouterr().out
    assert weir.main(["plan", str(starter_model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["is_speed_measured"] is True
    assert found["predicted_tps"] == pytest.approx(25, rel=0.05)


def test_cause_of_an_end_names_no_folder_of_the_builder() -> None:
    words = "/tmp/pip-install-x/vendor/llama.cpp/ggml/src/ggml.c:123: GGML_ASSERT(n > 0) failed"
    assert cause_in_words(EngineDied(-6, words)) == "ggml.c:123: GGML_ASSERT(n > 0) failed"
    assert cause_in_words(EngineDied(-9, "")) == "exit code -9"


def test_heads_too_narrow_for_blocks_are_advised_f16(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow = blocks(2) | {"embedding_length": 32, "context_length": 512}  # 2 heads of 16
    path = write_network(
        tmp_path / "narrow.gguf",
        Network("llama", narrow, {"output_norm.weight": zeros(8)}),
        TokenizerFields(()),
    )
    assert weir.main(["plan", str(path), "--kv-type", "Q8_0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["fits"] is False
    assert found["reasons"][:2] == [
        "The KV cache of this model cannot be stored as q8_0: its heads are too narrow.",
        "With f16 for the KV cache 512 tokens would fit.",
    ]
