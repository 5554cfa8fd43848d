from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.cli import doctor
from engine.errors import EngineGone
from engine.memory.bandwidth import CPUBandwidth
from engine.memory.hardware import BandwidthSource, Device
from engine.protocol import BackendReport, DeviceMemory

GPU = DeviceMemory(name="CUDA0", description="Some GPU", kind="gpu", free=6 * 2**30, total=None)
BACKEND = BackendReport(llama_cpp_version="0.3.36", system_info="AVX2 = 1 |", devices=(GPU,))
CARD = Device("CUDA0", "RTX 4060", "gpu", 8 * 2**30, 6 * 2**30, 3 * 2**29, 272e9, BandwidthSource.DRIVER)


def backend() -> BackendReport:
    return BACKEND


def no_backend() -> BackendReport:
    raise EngineGone("The engine process could not be started.")


@pytest.fixture(autouse=True)
def weir_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    return tmp_path


def run(as_json: bool, monkeypatch: pytest.MonkeyPatch, report: doctor.DoctorReport) -> int:
    monkeypatch.setattr(doctor, "examine", lambda measures: report)
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
    cpu, card = found["hardware"]["devices"]
    assert (cpu["kind"], card["name"], card["free"], card["bandwidth"]) == ("cpu", "CUDA0", 6 * 2**30, None)
    assert found["hardware"]["n_physical_cores"] == found["cpu_cores"] >= 1
    assert found["problems"] == []


def test_columns_are_aligned_and_unknown_memory_is_not_zero(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(False, monkeypatch, doctor.examine(backend))
    lines = capsys.readouterr().out.splitlines()
    width = len(max((line.split("  ")[0] for line in lines), key=len))
    assert all(line[width : width + 2] == "  " and line[width + 2] != " " for line in lines)
    assert any("Some GPU (gpu), 6.0 GiB free of n/a, n/a used by others, bandwidth n/a" in x for x in lines)


def test_engine_that_does_not_start_is_a_line_and_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(False, monkeypatch, doctor.examine(no_backend)) == 1
    out = capsys.readouterr().out
    assert "The engine process could not be started." in out
    assert "device CPU" in out  # what needs no engine is told all the same


def test_starter_model_that_is_missing_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "starter_model_path", lambda: None)
    report = doctor.examine(backend)
    assert report.starter_model is None
    assert [problem for problem in report.problems if "starter model" in problem]


def test_window_that_cannot_be_opened_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "display_problem", lambda: "No display.")
    report = doctor.examine(backend)
    assert report.display_problem == "No display." and report.problems == ()


def test_bandwidth_is_measured_only_when_asked_for_and_then_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measurements = [CPUBandwidth(12e9, 41.5e9)]
    monkeypatch.setattr(doctor, "measure_processor", lambda _hardware: measurements.pop())
    assert doctor.examine(backend).hardware.devices[0].bandwidth is None
    assert doctor.examine(backend, measures=True).hardware.devices[0].bandwidth == 41.5e9
    run(False, monkeypatch, doctor.examine(backend))
    assert "41.5 GB/s (measured)" in capsys.readouterr().out
    assert measurements == []


def test_a_measurement_that_fails_keeps_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "measure_processor", lambda _hardware: None)
    report = doctor.examine(backend, measures=True)
    assert report.hardware.devices[0].bandwidth is None and report.problems == ()


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"n_physical_cores": 8, "n_performance_cores": 4}, "8 cores (4 fast), "),
        ({"n_physical_cores": 1, "n_performance_cores": 1}, "1 core, "),
        ({"swap_total": 0}, "none"),
        ({"swap_total": 8 * 2**30, "swap_used": 2**30}, "1.0 GiB used of 8.0 GiB"),
        ({"devices": (CARD,)}, "RTX 4060 (gpu), 6.0 GiB free of 8.0 GiB, 1.5 GiB used by others, 272.0 GB/s"),
        ({"devices": (replace(CARD, shares_ram=True),)}, "6.0 GiB free of 8.0 GiB, a part of the RAM, 272.0"),
    ],
)
def test_the_machine_in_words(
    changed: dict[str, Any],
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = doctor.examine(backend)
    run(False, monkeypatch, replace(report, hardware=replace(report.hardware, **changed)))
    assert line in capsys.readouterr().out
