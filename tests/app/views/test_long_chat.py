"""A chat of 2,000 messages while a reply streams in (open-webui/open-webui#4310): nothing freezes.

`make bench` measures the same for 30 s against tighter bounds, on a machine that does nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.timeout(110)
def test_a_long_chat_opens_and_streams_without_freezing() -> None:
    command = [sys.executable, "-m", "tests.benchmarks.long_chat", "3"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["n_messages"] == 2_002
    assert found["open_s"] < 2
    assert found["longest_stall_ms"] < 200
    assert found["at_end"]
    assert found["rss_mb"] < 250
