"""The window's promises about long chats, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(300)]


def test_a_chat_of_2_000_messages_opens_at_once_and_streams_without_a_stall() -> None:
    command = [sys.executable, "-m", "tests.benchmarks.long_chat", "30"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout.splitlines()[-1])
    print("\n" + "\n".join(f"{name}: {value}" for name, value in found.items()))
    assert found["n_messages"] == 2_002
    assert found["n_characters"] >= 900_000
    assert found["open_s"] < 0.5
    assert found["longest_stall_ms"] < 50
    assert found["median_stall_ms"] < 8
    assert found["repaint_ms_2000"] < 1.5 * found["repaint_ms_20"] + 1
    assert found["at_end"]
    assert found["rss_mb"] < 250
