from __future__ import annotations

import psutil
import pytest

from engine.memory import other_load
from engine.memory.other_load import OtherLoad


def test_only_what_others_compute_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"all": 100.0, "ours": 10.0, "now": 0.0}
    monkeypatch.setattr(other_load, "_busy_seconds", lambda: seconds["all"])
    monkeypatch.setattr(other_load, "_process_seconds", lambda _pid: seconds["ours"] / 2)
    monkeypatch.setattr("engine.memory.other_load.time.monotonic", lambda: seconds["now"])
    load = OtherLoad([1])
    seconds |= {"all": 120.0, "ours": 28.0, "now": 10.0}
    assert load.cores() == pytest.approx(0.2)
    assert not load.disturbs() or (psutil.cpu_count() or 1) == 1
    seconds["all"] += 10 * (psutil.cpu_count() or 1)
    assert load.disturbs()


def test_a_process_that_is_gone_does_not_stop_it() -> None:
    assert OtherLoad([2**30]).cores() >= 0
