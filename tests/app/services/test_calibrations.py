"""What is learned while chats run, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.services.bandwidth_use import BandwidthUse, cache_bytes_read
from app.services.calibrations import QUIET_MS, Calibrations
from app.services.plan_result import PlanResult
from app.window import Weir
from engine.memory.bandwidth import CPUBandwidth
from engine.memory.hardware import BandwidthSource
from engine.memory.learning import device_of
from engine.memory.memory_plan import Wishes
from engine.memory.memory_wall import seconds_of
from engine.memory.other_load import OtherLoad
from engine.memory.token_work import works
from engine.models.model_facts import read_facts
from engine.protocol import DeviceBuffers, EffectiveOptions, Gauges, KVType, PrefillProgress
from tests.app.conftest import Desk, settle
from tests.app.planned_machine import GIB, MIB, Bench, card, cpu, machine
from tests.app.scripted_engine import ScriptedEngine, model_info

BUFFERS = (DeviceBuffers("CPU", 205 * MIB, 180 * MIB, 36 * MIB),)
GAUGES = Gauges(40.0, 380.0, 210.0, 1000, 8192, 22 * MIB, 180 * MIB, 432 * MIB, (), 120 * MIB)
A_CELL = 30 * 2 * 192 * 2


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs beside the tests."""
    monkeypatch.setattr(OtherLoad, "disturbs", lambda _load: False)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def desk(qtbot: QtBot, home: Path, engine: ScriptedEngine, bench: Bench) -> Iterator[Desk]:
    weir = Weir(engine, Path(bench.model("starter")), bench.sources())
    qtbot.addWidget(weir.window)
    weir.show()
    settle()
    desk = Desk(weir, engine)
    desk.say(lambda: engine.newest.load(buffers=BUFFERS))
    yield desk
    weir.window.close()
    settle()


@pytest.fixture
def calibrations(desk: Desk) -> Calibrations:
    assert desk.weir.calibrations is not None
    return desk.weir.calibrations


def _reply(desk: Desk, n_tokens: int = 40, **numbers: Any) -> None:
    desk.send("Hello")
    desk.say(desk.engine.newest.write, "Hi")
    desk.say(lambda: desk.engine.newest.finish("Hi", tokens_generated=n_tokens, kv_cells_used=120, **numbers))


def _speed(bench: Bench) -> float | None:
    """Seconds that a token takes as it was learned, for what the turn read."""
    facts = read_facts(Path(bench.model("starter")))
    speed = bench.sources().calibrations.speed(bench.hardware.devices[0], facts.quantization)
    work = works(facts, ["CPU"] * (facts.n_layers + 1), 100)["CPU"]
    return None if speed is None else seconds_of(work, speed)


def test_a_turn_of_some_length_is_learned_from(desk: Desk, bench: Bench) -> None:
    assert _speed(bench) is None
    _reply(desk, decode_tps=50.0)
    assert _speed(bench) == pytest.approx(1 / 50)


@pytest.mark.parametrize(("n_tokens", "tps"), [(19, 50.0), (40, None)])
def test_a_turn_that_tells_little_is_not_learned_from(
    desk: Desk, bench: Bench, n_tokens: int, tps: float | None
) -> None:
    _reply(desk, n_tokens, decode_tps=tps)
    assert _speed(bench) is None


def test_what_drafts_gained_is_not_taken_for_the_speed_of_the_machine(desk: Desk, bench: Bench) -> None:
    _reply(desk, decode_tps=75.0, tokens_drafted=60, tokens_accepted=41, draft_gain=1.5)
    assert _speed(bench) == pytest.approx(1 / 50)


def test_drafts_of_unknown_gain_are_not_learned_from(desk: Desk, bench: Bench) -> None:
    _reply(desk, decode_tps=75.0, tokens_drafted=60)
    assert _speed(bench) is None


def test_a_turn_that_failed_disturbs_no_later_one(desk: Desk, bench: Bench) -> None:
    desk.send("Hello")
    first = desk.engine.newest.requests[-1].request_id
    desk.say(desk.engine.newest.say, PrefillProgress(first, 1, 2))
    desk.say(desk.engine.newest.fail, "Too long.")
    _reply(desk, decode_tps=50.0)
    assert _speed(bench) == pytest.approx(1 / 50)


def test_turns_that_ran_side_by_side_are_not_learned_from(desk: Desk, bench: Bench) -> None:
    desk.send("Hello")
    first = desk.engine.newest.requests[-1].request_id
    desk.say(desk.engine.newest.write, "Hi")
    desk.say(desk.engine.newest.say, PrefillProgress(first + 1000, 1, 2))
    desk.say(lambda: desk.engine.newest.finish("Hi", tokens_generated=40, kv_cells_used=120))
    assert _speed(bench) is None


def test_a_turn_beside_a_measurement_is_not_learned_from(
    desk: Desk, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk.weir.endurance, "current", object())
    _reply(desk)
    assert _speed(bench) is None


def test_turn_beside_a_busy_program_is_not_learned_from(
    desk: Desk, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OtherLoad, "disturbs", lambda _load: True)
    _reply(desk)
    assert _speed(bench) is None
    monkeypatch.setattr(OtherLoad, "disturbs", lambda _load: False)
    _reply(desk)
    assert _speed(bench) is not None


def test_memory_is_measured_soon_after_a_plan_that_misses_it(
    desk: Desk, bench: Bench, calibrations: Calibrations
) -> None:
    assert desk.weir.plans
    bench.hardware = machine(replace(cpu(10 * GIB), bandwidth=None, bandwidth_source=None))
    bench.bandwidth = CPUBandwidth(12e9, 22e9)
    told: list[PlanResult] = []
    desk.weir.plans.planned.connect(lambda _path, result: told.append(result))
    desk.weir.plans.ask(bench.model("other"), Wishes())
    settle()
    assert told[-1].plan and told[-1].plan.predicted_tps is None
    assert calibrations._quiet.isActive()
    calibrations._quiet.timeout.emit()
    settle()
    assert told[-1].plan and told[-1].plan.predicted_tps  # the plan in sight is made anew


def test_memory_is_measured_once_and_only_after_a_quiet_moment(
    desk: Desk, bench: Bench, calibrations: Calibrations
) -> None:
    _unmeasured(desk, bench)
    bench.bandwidth = CPUBandwidth(12e9, 22e9)
    timer = calibrations._quiet
    assert timer.interval() == QUIET_MS
    assert not timer.isActive()
    _reply(desk)
    assert timer.isActive()
    desk.send("And now?")
    desk.say(desk.engine.newest.write, "Well")
    assert not timer.isActive()  # another reply is being written
    desk.say(lambda: desk.engine.newest.finish("Well"))
    timer.timeout.emit()
    assert bench.measured == 1
    assert desk.weir.plans and desk.weir.plans.hardware
    [device] = desk.weir.plans.hardware.devices
    assert (device.bandwidth, device.bandwidth_source) == (22e9, BandwidthSource.MEASURED)
    timer.stop()
    _reply(desk)
    assert not timer.isActive()
    stored = bench.sources().bandwidths.stored(bench.hardware)
    assert stored and (stored.one_thread, stored.all_cores) == (12e9, 22e9)


def test_memory_that_is_known_is_not_measured(desk: Desk, bench: Bench, calibrations: Calibrations) -> None:
    _reply(desk)
    assert not calibrations._quiet.isActive()


def test_share_of_the_bandwidth_that_is_in_use(desk: Desk, bench: Bench, calibrations: Calibrations) -> None:
    facts = read_facts(Path(bench.model("starter")))
    use = calibrations.use(GAUGES)
    assert use == BandwidthUse(facts.active_bytes, 1000 * A_CELL, 20e9, 40.0)
    n_bytes = facts.active_bytes + 1000 * A_CELL
    assert use.used == pytest.approx(40 * n_bytes)
    assert use.share == pytest.approx(40 * n_bytes / 20e9)
    assert use.limit_tps == pytest.approx(20e9 / n_bytes)


def test_speed_of_replies_side_by_side_tells_nothing_about_the_memory(
    desk: Desk, calibrations: Calibrations
) -> None:
    for request_id in (1001, 1002):
        desk.say(desk.engine.newest.say, PrefillProgress(request_id, 1, 2))
    use = calibrations.use(GAUGES)
    assert use and use.used is None and use.share is None


def test_panel_shows_what_was_planned_beside_what_is(desk: Desk) -> None:
    desk.weir.history.take(GAUGES)
    panel = desk.weir.window.memory
    panel.open_panel()
    lines = panel.picture.plain_text().splitlines()
    assert "  weights: 205 MiB (214,958,080 bytes), planned 205 MiB" in lines
    assert "  KV cache, 8,192 cells: 180 MiB (188,743,680 bytes), planned 180 MiB" in lines
    assert any(line.startswith("bandwidth: ") and " of 20 GB/s in use (" in line for line in lines)
    assert any(line.startswith("limit here: ") and line.endswith("now 40.0") for line in lines)


def test_layers_on_several_devices_have_no_bandwidth_of_their_own() -> None:
    hardware = machine(cpu(10 * GIB), card(6 * GIB))
    info = replace(model_info("/models/m.gguf"), buffers=BUFFERS)
    on_both = (*BUFFERS, DeviceBuffers("CUDA0", 1, 1, 1))
    on_card = (DeviceBuffers("CPU", 9, 0, 1), DeviceBuffers("CUDA0", 9, 9, 1))
    assert device_of(info, hardware) == hardware.devices[0]
    assert device_of(replace(info, buffers=on_card), hardware) == hardware.devices[1]
    assert device_of(replace(info, buffers=on_both), hardware) is None
    assert device_of(replace(info, buffers=()), hardware) is None


def test_cells_are_read_in_the_cache_s_own_type(bench: Bench) -> None:
    facts = read_facts(Path(bench.model("starter")))
    assert cache_bytes_read(facts, EffectiveOptions(), 100) == 100 * A_CELL
    narrow = EffectiveOptions(k_type=KVType.Q8_0, v_type=KVType.Q4_0)
    assert cache_bytes_read(facts, narrow, 100) == 100 * 30 * 6 * (34 + 18)


def _unmeasured(desk: Desk, bench: Bench) -> None:
    bare = replace(cpu(10 * GIB), bandwidth=None, bandwidth_source=None)
    bench.hardware = machine(bare)
    assert desk.weir.plans is not None
    desk.weir.plans.take_hardware(bench.hardware)
