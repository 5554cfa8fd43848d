from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli import doctor
from engine.errors import EngineGone
from engine.protocol import BackendReport, DeviceMemory

GPU = DeviceMemory(name="CUDA0", description="Some GPU", kind="gpu", free=6 * 2**30, total=None)
BACKEND = BackendReport(llama_cpp_version="0.3.36", system_info="AVX2 = 1 |", devices=(GPU,))


def backend() -> BackendReport:
    return BACKEND


def no_backend() -> BackendReport:
    raise EngineGone("The engine process could not be started.")


@pytest.fixture(autouse=True)
def weir_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    return tmp_path


def run(as_json: bool, monkeypatch: pytest.MonkeyPatch, report: doctor.DoctorReport) -> int:
    monkeypatch.setattr(doctor, "examine", lambda: report)
    return doctor.run_doctor(as_json)


def test_json_is_one_strict_object(
    weir_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(True, monkeypatch, doctor.examine(backend)) == 0
    out = capsys.readouterr().out
    found = json.loads(out, parse_constant=pytest.fail)
    assert out.count("\n") == 1
    assert found["backend"]["devices"][0]["free"] == 6 * 2**30
    assert found["backend"]["devices"][0]["total"] is None
    assert found["data_folder"] == str(weir_home)
    assert found["packages"]["jinja2"]
    assert 0 < found["ram_free"] <= found["ram_total"]
    assert found["problems"] == []


def test_columns_are_aligned_and_unknown_memory_is_not_zero(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(False, monkeypatch, doctor.examine(backend))
    lines = capsys.readouterr().out.splitlines()
    width = len(max((line.split("  ")[0] for line in lines), key=len))
    assert all(line[width : width + 2] == "  " and line[width + 2] != " " for line in lines)
    assert any("Some GPU (gpu), 6.0 GiB free of n/a" in line for line in lines)


def test_engine_that_does_not_start_is_a_line_and_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(False, monkeypatch, doctor.examine(no_backend)) == 1
    out = capsys.readouterr().out
    assert "The engine process could not be started." in out


def test_starter_model_that_is_missing_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "starter_model_path", lambda: None)
    report = doctor.examine(backend)
    assert report.starter_model is None
    assert [problem for problem in report.problems if "starter model" in problem]


def test_window_that_cannot_be_opened_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "display_problem", lambda: "No display.")
    report = doctor.examine(backend)
    assert report.display_problem == "No display." and report.problems == ()
