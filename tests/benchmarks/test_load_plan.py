"""The plan page keeps up with a slider: measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.benchmark


def test_a_move_of_the_slider_costs_the_window_little() -> None:
    command = [sys.executable, "-m", "tests.benchmarks.load_plan"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout.splitlines()[-1])
    print("\n" + "\n".join(f"{name}: {value:.1f}" for name, value in found.items()))
    assert found["step_ms"] < 8
    assert found["open_ms"] < 16
    assert found["step_waited_ms"] < 100
