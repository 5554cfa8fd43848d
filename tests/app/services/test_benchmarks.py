"""Benchmarks: one worker a model, what has to wait, what makes room, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.bench_store import BenchStore
from app.services.bench_choices import BenchChoices
from engine.memory.bandwidth import CPUBandwidth
from engine.protocol import (
    Bench,
    BenchCase,
    BenchKind,
    BenchNoise,
    Cancel,
    ErrorCode,
    ErrorReport,
    Failed,
    FlashAttention,
    KVType,
    LoadModel,
    LoadProgress,
)
from tests.app.bench_stage import BenchStage
from tests.app.conftest import settle
from tests.app.planned_machine import GIB, cpu, machine


@pytest.fixture
def stage(qtbot: QtBot, tmp_path: Path) -> Iterator[BenchStage]:
    stage = BenchStage(tmp_path)
    yield stage
    stage.close()


def choices(*paths: str, **more: object) -> BenchChoices:
    return replace(BenchChoices(paths, prompts=(64,), gens=(16,), repetitions=2), **more)  # type: ignore[arg-type]


def told(stage: BenchStage) -> list[str]:
    return [problem.message for problem in stage.service.problems]


# --- what is measured -----------------------------------------------------------------------------


def test_lists_make_the_grid() -> None:
    chosen = BenchChoices(
        ("/m.gguf",),
        prompts=(512, 0),
        gens=(128,),
        depths=(0, 4096),
        threads=(None, 1),
        batches=(256,),
        kv_types=(KVType.Q8_0,),
        flash_attention=(FlashAttention.ON,),
        with_chat=True,
    )
    cases = chosen.cases()
    assert [(c.kind, c.n_threads, c.n_depth) for c in cases[:3]] == [
        (BenchKind.PROMPT, None, 0),
        (BenchKind.GENERATION, None, 0),
        (BenchKind.CHAT, None, 0),
    ]
    assert len(cases) == 3 * 2 * 2
    assert {(c.n_batch, c.n_ubatch, c.k_type, c.flash_attention) for c in cases} == {
        (256, 256, KVType.Q8_0, FlashAttention.ON)
    }
    [command] = chosen.commands()
    assert (command.path, command.repetitions, command.warm_up) == ("/m.gguf", 5, True)


def test_models_follow_one_another_in_workers_of_their_own_and_results_are_kept(stage: BenchStage) -> None:
    first, second = stage.machine.model("first"), stage.machine.model("second")
    ended: list[bool] = []
    stage.service.ended.connect(lambda: ended.append(True))
    stage.service.start(choices(first, second))
    pp, tg = BenchCase(64), BenchCase(0, 16)
    assert stage.commands() == [Bench(first, (pp, tg), 2)]
    assert (stage.service.position, stage.service.running) == ((1, 2), True)
    worker = stage.engine.newest
    stage.measure(0.5, 0.5, path=first)
    stage.measure(2.0, 2.5, path=first, index=1)
    stage.finish()
    assert worker.closed and not ended
    assert stage.commands()[1:] == [Bench(second, (pp, tg), 2)]
    stage.measure(path=second)
    stage.finish()
    assert (stage.service.running, ended) == (False, [True])
    [run] = BenchStore(stage.folder / "benchmarks.db").runs()
    assert [(r.record.test, r.record.model_filename) for r in run.results] == [
        ("pp64", first),
        ("tg16", first),
        ("pp64", second),
    ]
    assert run.facts.machine.startswith("Test processor · ") and "GiB RAM" in run.facts.machine


def test_results_are_compared_with_the_memory_and_teach_what_to_expect(stage: BenchStage) -> None:
    path = stage.machine.model()
    stage.service.start(choices(path, prompts=(), gens=(16,), depths=(0, 64)))
    stage.measure(0.2, 0.2, index=0)
    stage.measure(0.25, 0.25, index=1)
    stage.finish()
    first, second = stage.service.records
    assert first.decode_rate == pytest.approx(80.0)
    assert first.limit_ts == pytest.approx(20e9 / (first.bytes_per_token or 1))
    assert second.predicted_ts == pytest.approx(80.0, rel=0.02), "calibrated by the first"


def test_bandwidth_is_measured_first_where_nobody_has(stage: BenchStage) -> None:
    unknown = replace(cpu(10 * GIB), bandwidth=None, bandwidth_source=None)
    stage.machine.hardware = machine(unknown)
    stage.machine.bandwidth = CPUBandwidth(10e9, 0.0)
    stage.service.start(choices(stage.machine.model(), prompts=()))
    assert stage.machine.measured == 1
    stage.measure(0.2)
    assert stage.service.records[0].bandwidth_gbs == pytest.approx(10.0)


def test_progress_is_that_of_the_worker(stage: BenchStage) -> None:
    stage.service.start(choices(stage.machine.model()))
    stage.say(LoadProgress(0.5))
    assert stage.service.loaded_fraction == 0.5
    stage.progress(3, left=12.0)
    progress = stage.service.progress
    assert progress and (progress.n_done, progress.seconds_left) == (3, 12.0)


# --- the end --------------------------------------------------------------------------------------


def test_stop_keeps_what_was_measured_and_asked_twice_ends_at_once(stage: BenchStage) -> None:
    stage.service.start(choices(stage.machine.model("first"), stage.machine.model("second")))
    stage.progress(0)
    stage.measure(0.5)
    worker = stage.engine.newest
    stage.service.stop()
    assert worker.sent[-1] == Cancel(0)
    assert (stage.service.stopping, stage.service.running) == (True, True)
    stage.measure(2.0, index=1, aborted=True)
    stage.finish(aborted=True)
    assert not stage.service.running and len(stage.commands()) == 1
    assert [r.record.aborted for r in stage.results.runs[0].results] == [False, True]
    stage.service.start(choices(stage.machine.model()))
    stage.progress(0)
    stage.service.stop()
    stage.service.stop()
    assert not stage.service.running
    assert stage.engine.newest.closed


def test_model_that_fails_is_told_and_the_next_one_is_measured(stage: BenchStage) -> None:
    missing, broken, good = "/gone.gguf", stage.machine.model("broken"), stage.machine.model("good")
    stage.service.start(choices(missing, broken, good))
    assert [command.path for command in stage.commands()] == [broken]
    stage.say(Failed(None, ErrorReport(ErrorCode.MODEL_FILE, "It is broken.")))
    assert [command.path for command in stage.commands()] == [broken, good]
    stage.measure(0.5, path=good)
    stage.engine.newest.die("GGML_ASSERT")
    settle()
    assert not stage.service.running
    assert len(told(stage)) == 3 and told(stage)[1] == "It is broken." and "good" in told(stage)[2]
    assert stage.service.problems[2].detail == "GGML_ASSERT"
    assert len(stage.results.runs[0].results) == 1


def test_values_that_make_no_sense_are_told(stage: BenchStage) -> None:
    stage.service.start(choices(stage.machine.model(), batches=(0,)))
    assert not stage.service.running
    assert "n_batch" in told(stage)[0]


def test_what_was_asked_for_and_is_not_so_is_told_once(stage: BenchStage) -> None:
    stage.service.start(choices(stage.machine.model()))
    stage.measure(0.5, notices=("V stays f16.",))
    stage.measure(0.5, index=1, notices=("V stays f16.",))
    assert told(stage) == ["V stays f16."]


def test_close_ends_the_worker_and_tells_nobody(stage: BenchStage) -> None:
    stage.service.start(choices(stage.machine.model()))
    ended: list[bool] = []
    stage.service.ended.connect(lambda: ended.append(True))
    stage.service.close()
    settle()
    assert stage.engine.newest.closed and not ended


# --- what else goes on ----------------------------------------------------------------------------


def test_it_begins_when_the_reply_is_written(stage: BenchStage) -> None:
    stage.is_busy = True
    stage.service.start(choices(stage.machine.model()))
    assert stage.commands() == [] and stage.service.waits_for_others and stage.service.running
    stage.service.go_on()
    assert stage.commands() == []
    stage.is_busy = False
    stage.service.go_on()
    assert len(stage.commands()) == 1 and not stage.service.waits_for_others


def test_it_begins_when_the_model_is_loaded(stage: BenchStage) -> None:
    stage.loader.load(stage.machine.model("chat"))
    stage.service.start(choices(stage.machine.model()))
    assert stage.commands() == []
    stage.say_load()
    assert len(stage.commands()) == 1


def test_what_waits_can_be_stopped_and_lets_the_chats_go_on(stage: BenchStage) -> None:
    ended: list[bool] = []
    stage.service.ended.connect(lambda: ended.append(True))
    stage.is_busy = True
    stage.service.start(choices(stage.machine.model()))
    stage.service.stop()
    assert (stage.service.running, ended) == (False, [True])


def test_message_that_waits_is_told_why(stage: BenchStage) -> None:
    assert stage.service.notice.message.startswith("A benchmark is running: your message is sent when")


# --- is there room --------------------------------------------------------------------------------


def test_chats_model_is_unloaded_only_when_the_user_says_so_and_comes_back(
    stage: BenchStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.load(stage.machine.model("chat"))
    chat = stage.loader.info
    assert chat is not None
    monkeypatch.setattr("app.services.plan_result.PlanResult.fits_beside", False)
    stage.service.start(choices(stage.machine.model("large")))
    assert (stage.service.asks_to_unload, stage.commands(), stage.unloaded) == (True, [], 0)
    stage.service.unload()
    assert (stage.unloaded, stage.loader.present) == (1, None)
    assert (stage.service.asks_to_unload, len(stage.commands())) == (False, 1)
    stage.measure(0.5)
    stage.finish()
    assert stage.loader.loading == chat.path
    assert isinstance(stage.engine.newest.sent[0], LoadModel)


def test_who_does_not_want_to_unload_stops(stage: BenchStage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.load(stage.machine.model("chat"))
    monkeypatch.setattr("app.services.plan_result.PlanResult.fits_beside", False)
    stage.service.start(choices(stage.machine.model("large")))
    stage.service.stop()
    assert not stage.service.running and not stage.service.asks_to_unload
    assert stage.loader.info is not None and stage.commands() == []


def test_model_that_has_no_room_is_not_tried(stage: BenchStage) -> None:
    stage.machine.shrink_ram(20 * 2**20)
    stage.service.start(choices(stage.machine.model("large")))
    assert stage.commands() == [] and not stage.service.running
    assert "was not measured" in told(stage)[0]


def test_noise_is_stored_with_the_result(stage: BenchStage) -> None:
    stage.service.start(choices(stage.machine.model()))
    stage.measure(0.5, noise=BenchNoise(34.0, True, "battery"))
    [stored] = stage.results.runs[0].results
    noise = (stored.record.other_load_pct, stored.record.throttled, stored.record.power_source)
    assert noise == (34.0, True, "battery")


def test_run_can_be_named_and_deleted(stage: BenchStage) -> None:
    stage.service.start(choices(stage.machine.model()))
    stage.measure(0.5)
    run = stage.results.runs[0]
    stage.results.set_label(run.facts.id, "  on   battery ")
    assert stage.results.runs[0].label == "on battery"
    stage.results.delete([run.results[0].id])
    assert stage.results.runs == ()


def test_stopped_run_is_told_from_a_finished_one_once_it_has_ended(stage: BenchStage) -> None:
    stage.service.start(choices(stage.machine.model()))
    stage.progress(0)
    stage.measure(0.5, 0.5)
    stage.results.refresh()
    assert not stage.results.runs[0].is_stopped, "it is still being measured"
    stage.service.stop()
    stage.finish(aborted=True)
    [stopped] = stage.results.runs
    assert (stopped.is_stopped, stopped.n_measured, stopped.facts.n_cases) == (True, 1, 2)
    stage.service.start(choices(stage.machine.model(), gens=()))
    stage.measure(0.5, 0.5)
    stage.finish()
    assert [run.is_stopped for run in stage.results.runs] == [False, True]
