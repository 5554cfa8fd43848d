from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.cli.learning_output import LearningOutput
from engine.memory.bandwidth import BandwidthStore
from engine.memory.calibration import CalibrationStore
from engine.memory.hardware import read_hardware
from engine.memory.learning import Learner
from engine.memory.other_load import OtherLoad
from engine.models.model_facts import read_facts
from engine.protocol import DeviceBuffers, Event, Finished, FinishReason, ModelLoaded, TextDelta
from tests.app.cli.scripted_engine import INFO, STATS


class Seen:
    """An output that remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def show(self, event: Event) -> None:
        self.events.append(event)

    def note(self, sentence: str) -> None:
        raise AssertionError(sentence)


@pytest.mark.parametrize(
    ("n_tokens", "tps", "is_busy", "learns"),
    [(40, 25.0, False, True), (19, 25.0, False, False), (40, None, False, False), (40, 25.0, True, False)],
)
def test_terminal_chat_learns_how_fast_a_model_is_here(
    starter_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_tokens: int,
    tps: float | None,
    is_busy: bool,
    learns: bool,
) -> None:
    monkeypatch.setattr(OtherLoad, "disturbs", lambda _load: is_busy)
    store, seen = CalibrationStore(tmp_path / "c.json"), Seen()
    output = LearningOutput(seen, lambda: Learner(store, BandwidthStore(tmp_path / "b.json")))
    info = replace(INFO, path=str(starter_model), buffers=(DeviceBuffers("CPU", 1, 1, 1),))
    stats = replace(STATS, tokens_generated=n_tokens, decode_tps=tps, kv_cells_used=60)
    events: list[Event] = [
        ModelLoaded(info, 5.0),
        TextDelta(1, "Hi", 1),
        Finished(1, FinishReason.STOP, "Hi", stats),
    ]
    for event in events:
        output.show(event)
    assert seen.events == events
    device = read_hardware(()).devices[0]
    assert (store.speed(device, read_facts(starter_model).quantization) is not None) is learns
