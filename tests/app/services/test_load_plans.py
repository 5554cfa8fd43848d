"""Plans: who is asked for what, which answer counts, and what nothing has to wait for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.settings import LoadSettings, SettingsStore
from app.services.background import Background
from app.services.freed_memory import freed_by_unloading
from app.services.gauge_history import GaugeHistory
from app.services.load_plans import PAUSE_MS, LoadPlans
from app.services.memory_split import Use, planned_split
from app.services.model_loader import ModelLoader
from app.services.plan_result import PlanResult
from app.services.preferences import Preferences
from engine.dry_run import Refused
from engine.memory.load_options import CPU_MICRO_BATCH
from engine.memory.memory_plan import ExactSizes, LoadShape, Verdict, Wishes
from engine.protocol import (
    DEFAULT_SEQUENCES,
    DeviceBuffers,
    DeviceMemory,
    EffectiveOptions,
    FlashAttention,
    Gauges,
    KVType,
)
from tests.app.conftest import settle
from tests.app.planned_machine import GIB, MIB, Bench, card, cpu, machine
from tests.app.scripted_engine import ScriptedEngine, model_info

ON_PROCESSOR = EffectiveOptions(devices=(), n_ubatch=CPU_MICRO_BATCH, flash_attention=FlashAttention.OFF)
GAUGES = Gauges(41.2, 380.0, 210.0, 5300, 8192, 122 * MIB, 180 * MIB, 600 * MIB, (), 200 * MIB)


def exact_sizes(shape: LoadShape) -> ExactSizes:
    return ExactSizes(shape, ("CPU",) * 31, 180 * MIB, {"CPU": 77 * MIB})


class Asking:
    """A service with the answers that it gave."""

    def __init__(self, bench: Bench, engine: ScriptedEngine) -> None:
        self.bench = bench
        self.history = GaugeHistory()
        self.engine = engine
        store = SettingsStore(bench.folder / "settings.json")
        self.loader = ModelLoader(Preferences(store, store.load()[0]), engine)
        self.plans = LoadPlans(bench.sources(), self.loader, self.history)
        self.answers: list[PlanResult] = []
        self.plans.planned.connect(lambda _path, result: self.answers.append(result))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def asking(qtbot: QtBot, bench: Bench, engine: ScriptedEngine) -> Iterator[Asking]:
    asking = Asking(bench, engine)
    yield asking
    asking.plans.close()
    asking.loader.close(1.0)


def test_formulas_answer_first_and_llama_cpps_own_sizes_follow(asking: Asking) -> None:
    asking.bench.exact = exact_sizes
    asking.plans.ask(asking.bench.model(), Wishes())
    estimated, exact = asking.answers
    assert estimated.plan and exact.plan
    assert (estimated.plan.is_exact, estimated.is_settled) == (False, False)
    assert (exact.plan.is_exact, exact.is_settled) == (True, True)
    assert exact.plan.compute_bytes == 77 * MIB
    assert exact.plan.kv_bytes == 8192 * 30 * 2 * 192 * 2
    assert asking.bench.tried == [LoadShape(8192, 0, DEFAULT_SEQUENCES, ON_PROCESSOR)]


def test_a_dry_run_that_fails_leaves_the_estimate(asking: Asking) -> None:
    asking.plans.ask(asking.bench.model(), Wishes())
    last = asking.answers[-1]
    assert last.plan and not last.plan.is_exact
    assert last.is_settled


def test_only_the_newest_question_is_answered(asking: Asking) -> None:
    looking = asking.bench.runners["plan-look"]
    looking.holds = True
    first, second = asking.bench.model("first"), asking.bench.model("second")
    asking.plans.ask(first, Wishes())
    asking.plans.ask(second, Wishes())
    looking.go()
    assert {answer.path for answer in asking.answers} == {second}


def test_a_dry_run_for_a_model_that_is_not_wanted_any_more_is_not_made(asking: Asking) -> None:
    trying = asking.bench.runners["plan-dry-run"]
    trying.holds = True
    asking.plans.ask(asking.bench.model("first"), Wishes(n_ctx=1024))
    asking.plans.ask(asking.bench.model("second"), Wishes(n_ctx=2048))
    trying.go()
    assert [shape.n_ctx for shape in asking.bench.tried] == [2048]


def test_another_context_is_priced_at_once_and_tried_after_a_pause(asking: Asking, qtbot: QtBot) -> None:
    asking.bench.exact = exact_sizes
    asking.plans.ask(asking.bench.model(), Wishes())
    n_tried = len(asking.bench.tried)
    for n_ctx in (1024, 2048, 4096):
        asking.plans.wish(Wishes(n_ctx=n_ctx, kv_type=KVType.Q8_0))
        priced = asking.answers[-1].plan
        assert priced and priced.kv_bytes == n_ctx * 30 * 2 * 6 * 34
    n_answers = len(asking.answers)
    assert len(asking.bench.tried) == n_tried
    qtbot.waitUntil(lambda: len(asking.answers) > n_answers, timeout=PAUSE_MS * 10)
    assert [shape.n_ctx for shape in asking.bench.tried[n_tried:]] == [4096]
    newest = asking.answers[-1].plan
    assert newest and newest.is_exact and newest.n_ctx == 4096


def test_of_wishes_that_follow_each_other_fast_only_the_last_is_counted(asking: Asking) -> None:
    asking.plans.ask(asking.bench.model(), Wishes())
    counting, counted = asking.bench.runners["plan-count"], asking.bench.counted
    counting.holds = True
    n_answers = len(asking.answers)
    counted.clear()
    for n_ctx in (1024, 2048, 4096):
        asking.plans.wish(Wishes(n_ctx=n_ctx))
    counting.go()
    assert {wishes.n_ctx for wishes in counted} == {4096}
    assert [answer.wishes.n_ctx for answer in asking.answers[n_answers:]] == [4096]


def test_answer_that_comes_after_another_wish_is_not_told(asking: Asking) -> None:
    asking.plans.ask(asking.bench.model(), Wishes())
    n_answers = len(asking.answers)
    asking.bench.runners["plan-count"].delays = True
    asking.plans.wish(Wishes(n_ctx=1024))
    asking.plans.wish(Wishes(n_ctx=2048))
    asking.bench.runners["plan-count"].go()
    assert [answer.wishes.n_ctx for answer in asking.answers[n_answers:]] == [2048]


def test_one_wish_costs_few_plans(asking: Asking) -> None:
    asking.bench.exact = exact_sizes
    asking.plans.ask(asking.bench.model(), Wishes())
    asking.bench.counted.clear()
    asking.plans.wish(Wishes(n_ctx=1024))
    assert len(asking.bench.counted) == 2  # by formulas, then corrected by what llama.cpp said


def test_nothing_is_counted_on_the_thread_that_asks(asking: Asking, qtbot: QtBot) -> None:
    sources = replace(asking.bench.sources(), make_runner=Background)
    plans = LoadPlans(sources, asking.loader, asking.history)
    with qtbot.waitSignal(plans.planned):
        plans.ask(asking.bench.model(), Wishes())
    with qtbot.waitSignal(plans.planned):
        plans.wish(Wishes(n_ctx=1024))
    plans.close()
    assert asking.bench.counted
    assert threading.current_thread() not in asking.bench.counted_on


def test_wish_before_the_file_was_read_is_the_one_that_counts(asking: Asking) -> None:
    looking = asking.bench.runners["plan-look"]
    looking.holds = True
    asking.plans.ask(asking.bench.model(), Wishes())
    asking.plans.wish(Wishes(n_ctx=1024))
    looking.go()
    assert {answer.wishes.n_ctx for answer in asking.answers} == {1024}


REFUSED = Refused("model.gguf cannot be loaded: unknown model architecture: 'nosucharch'.")


def test_file_that_llama_cpp_refuses_is_told_with_its_reason(asking: Asking) -> None:
    asking.bench.exact = lambda shape: REFUSED
    asking.plans.ask(asking.bench.model(), Wishes())
    first, last = asking.answers
    assert first.may_load
    assert (last.problem, last.may_load, last.can_chat) == (REFUSED.reason, False, False)
    assert last.is_settled and last.has_choices


def test_refusal_holds_for_other_wishes_until_llama_cpp_takes_one(asking: Asking, qtbot: QtBot) -> None:
    asking.bench.exact = lambda shape: REFUSED if shape.n_ctx == 8192 else exact_sizes(shape)
    asking.plans.ask(asking.bench.model(), Wishes())
    asking.plans.wish(Wishes(n_ctx=1024))
    assert not asking.answers[-1].may_load and not asking.answers[-1].is_settled
    qtbot.waitUntil(lambda: asking.answers[-1].may_load, timeout=PAUSE_MS * 10)
    asking.plans.wish(Wishes())
    assert asking.answers[-1].problem == REFUSED.reason
    asking.plans.wish(Wishes(n_ctx=2048))
    assert asking.answers[-1].may_load


def test_broken_file_is_told_in_one_sentence(asking: Asking, tmp_path: Path) -> None:
    broken = tmp_path / "page.gguf"
    broken.write_bytes(b"<html>")
    asking.plans.ask(str(broken), Wishes())
    [answer] = asking.answers
    assert "page.gguf" in answer.problem
    assert (answer.plan, answer.can_chat, answer.is_settled) == (None, False, True)
    assert asking.bench.tried == []


def test_present_model_counts_as_memory_that_will_be_free(asking: Asking) -> None:
    asking.loader.load("/models/present.gguf")
    buffers = (DeviceBuffers("CPU", 93 * MIB, 180 * MIB, 36 * MIB),)
    asking.engine.newest.load(buffers=buffers)
    settle()
    asking.history.take(GAUGES)
    asking.plans.ask(asking.bench.model(), Wishes())
    plan = asking.answers[-1].plan
    assert plan and plan.freed_bytes == 400 * MIB
    assert plan.devices[-1].free == 10 * GIB + 400 * MIB


@pytest.mark.parametrize(("free", "beside"), [(2 * GIB, True), (500 * MIB, False)])
def test_present_model_stays_only_where_there_is_room_for_both(
    asking: Asking, free: int, beside: bool
) -> None:
    asking.bench.shrink_ram(free)
    asking.loader.load("/models/present.gguf")
    asking.engine.newest.load()
    settle()
    asking.history.take(replace(GAUGES, rss_bytes=1200 * MIB))
    asking.plans.ask(asking.bench.model(), Wishes())
    assert asking.answers[-1].plan and asking.answers[-1].plan.fits
    assert asking.answers[-1].fits_beside is beside


def test_memory_of_cards_and_private_memory_are_freed_by_unloading() -> None:
    info = replace(
        model_info("/models/m.gguf"),
        devices=(DeviceMemory("CUDA0", "", "gpu", GIB, 8 * GIB), DeviceMemory("CPU", "", "cpu", None, None)),
        buffers=(DeviceBuffers("CUDA0", 100, 20, 3), DeviceBuffers("CPU", 7000, 20, 5)),
    )
    assert freed_by_unloading(None, GAUGES) == {}
    assert freed_by_unloading(info, None) == {"CUDA0": 123, "CPU": 25}
    assert freed_by_unloading(info, GAUGES) == {"CUDA0": 123, "CPU": 400 * MIB}
    unmapped = replace(GAUGES, rss_bytes=9000, rss_file_bytes=None)
    assert freed_by_unloading(info, unmapped) == {"CUDA0": 123, "CPU": 2000}
    read = replace(info, options=EffectiveOptions(mmap=False))
    assert freed_by_unloading(read, None) == {"CUDA0": 123, "CPU": 7025}
    assert freed_by_unloading(read, unmapped) == {"CUDA0": 123, "CPU": 9000}


def test_devices_are_asked_for_only_where_no_engine_tells(asking: Asking) -> None:
    asking.plans.ask(asking.bench.model(), Wishes())
    assert asking.bench.probed == 1
    asking.loader.load("/models/present.gguf")
    asking.engine.newest.load(devices=(DeviceMemory("CPU", "", "cpu", None, None),))
    settle()
    asking.plans.ask(asking.bench.model(), Wishes())
    assert asking.bench.probed == 1


def test_engine_that_shall_load_tells_the_devices_itself(asking: Asking) -> None:
    seen: list[tuple[DeviceMemory, ...]] = []
    asking.bench.on_read = lambda devices: seen.append(tuple(devices))
    asking.loader.guard = asking.plans.look
    asking.engine.devices = (DeviceMemory("CUDA0", "Test card", "gpu", 7 * GIB, 8 * GIB),)
    asking.loader.load(asking.bench.model())
    assert seen == [asking.engine.devices]
    assert asking.bench.probed == 0
    assert asking.engine.newest.load_command.path == asking.bench.model()


def test_devices_seen_while_another_engine_ends_are_asked_for_anew(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(asking.loader.retired), "ending", property(lambda _self: True))
    asking.loader.guard = asking.plans.look
    asking.engine.devices = (DeviceMemory("CUDA0", "Test card", "gpu", 1 * GIB, 8 * GIB),)
    asking.loader.load(asking.bench.model())
    assert asking.bench.probed == 1


def test_what_would_fit_is_offered_and_does(asking: Asking) -> None:
    asking.bench.shrink_ram(900 * MIB)
    asking.plans.ask(asking.bench.model(), Wishes(n_ctx=8192))
    assert asking.answers[-1].does_not_fit
    by_type, by_context = asking.answers[-1].fitting
    assert by_type.kv_type is KVType.Q8_0 and by_type.n_ctx == 8192
    assert by_context.kv_type is KVType.F16 and by_context.n_ctx and by_context.n_ctx < 8192
    for wishes in (by_type, by_context):
        asking.plans.wish(wishes)
        assert asking.answers[-1].may_load
        assert asking.answers[-1].fitting == ()


def test_nothing_is_offered_where_the_weights_alone_are_too_large(asking: Asking) -> None:
    asking.bench.shrink_ram(300 * MIB)
    asking.plans.ask(asking.bench.model(), Wishes())
    assert asking.answers[-1].does_not_fit
    assert asking.answers[-1].fitting == ()


def test_a_load_with_ample_room_is_judged_without_a_dry_run(asking: Asking) -> None:
    answers: list[PlanResult | None] = []
    asking.plans.look(asking.bench.model(), LoadSettings(), answers.append)
    [answer] = answers
    assert answer and answer.plan and answer.plan.verdict is Verdict.FITS
    assert asking.bench.tried == []
    assert asking.answers == []  # nobody looks at it


def test_a_tight_load_is_judged_by_llama_cpps_own_sizes(asking: Asking) -> None:
    asking.bench.exact = exact_sizes
    asking.bench.shrink_ram(1200 * MIB)
    answers: list[PlanResult | None] = []
    asking.plans.look(asking.bench.model(), LoadSettings(), answers.append)
    [answer] = answers
    assert answer and answer.plan and answer.plan.is_exact


def test_planned_parts_add_up_to_the_device(asking: Asking) -> None:
    asking.bench.hardware = machine(cpu(10 * GIB), card(2 * GIB))
    asking.plans.ask(asking.bench.model(), Wishes())
    on_card, host = planned_split(asking.answers[-1])
    assert (on_card.name, on_card.description, host.name) == ("CUDA0", "Test card", "")
    for split in (on_card, host):
        assert sum(part.n_bytes for part in split.parts) == split.total
    assert on_card.bytes_of(Use.OTHERS) == 6 * GIB
    assert host.bytes_of(Use.OTHERS) == 3 * GIB
    assert host.bytes_of(Use.WEIR) == 3 * GIB
    assert on_card.bytes_of(Use.KV) == 180 * MIB
