"""Nothing is loaded by itself that has no room, and what runs out of memory is one clear error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.chat_options import ChatOptions
from app.data.settings import LoadSettings
from app.services.notice import NoticeAction
from app.window import Weir
from engine.protocol import EngineDied, Gauges, KVType, LoadProgress, Policy
from tests.app.conftest import Desk, settle
from tests.app.planned_machine import GIB, MIB, Bench, card, cpu, machine
from tests.app.scripted_engine import ScriptedEngine


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def start_planned(
    qtbot: QtBot, home: Path, engine: ScriptedEngine, bench: Bench
) -> Iterator[Callable[[], Desk]]:
    """Starts the program on the bench's machine, with a starter model."""
    running: list[Weir] = []

    def start() -> Desk:
        weir = Weir(engine, Path(bench.model("starter")), bench.sources())
        running.append(weir)
        qtbot.addWidget(weir.window)
        weir.show()
        settle()
        return Desk(weir, engine)

    yield start
    for weir in running:
        weir.window.close()
    settle()


# --- the guard ----------------------------------------------------------------------------------------


def test_first_model_that_fits_is_loaded_without_a_question(start_planned: Callable[[], Desk]) -> None:
    desk = start_planned()
    assert desk.engine.newest.load_command.path.endswith("starter.gguf")
    assert desk.weir.window.composer.isVisible()


def test_first_model_that_does_not_fit_is_not_started_and_says_why(
    start_planned: Callable[[], Desk], bench: Bench
) -> None:
    bench.shrink_ram(300 * MIB)
    desk = start_planned()
    assert desk.engine.newest.sent == []
    assert desk.engine.newest.closed
    assert desk.weir.loader.loading is None
    assert "starter.gguf was not loaded. Does not fit" in desk.weir.window.banner.text.text()
    desk.weir.window.banner.action.click()
    settle()
    page = desk.weir.pages.load_plan
    assert page is not None and page.isVisible()
    assert not page.load.isEnabled()


def test_more_room_lets_the_same_model_be_loaded(start_planned: Callable[[], Desk], bench: Bench) -> None:
    bench.shrink_ram(300 * MIB)
    desk = start_planned()
    bench.shrink_ram(5 * GIB)
    desk.weir.loader.load_again()
    assert desk.engine.newest.load_command.path.endswith("starter.gguf")


def test_reload_that_does_not_fit_is_not_started_and_the_setting_goes_back(
    start_planned: Callable[[], Desk], bench: Bench
) -> None:
    desk = start_planned()
    desk.say(desk.engine.newest.load)
    bench.shrink_ram(300 * MIB)
    desk.chats.options.choose(None, kv_type=KVType.Q8_0)
    settle()
    assert desk.engine.newest.sent == []
    assert "starter goes on answering." in desk.notices[-1].message
    assert desk.notices[-1].action is NoticeAction.SHOW_PLAN
    assert desk.weir.preferences.settings.kv_type is KVType.F16
    desk.send("Still there?")
    assert len(desk.engine.clients[0].requests) == 1


def test_context_beyond_the_trained_one_is_one_error_and_no_loop(
    start_planned: Callable[[], Desk], bench: Bench
) -> None:
    desk = start_planned()
    desk.say(desk.engine.newest.load)
    desk.weir.loader.load(bench.model("other"), LoadSettings(n_ctx=2**31 - 1))
    settle()
    assert desk.engine.newest.sent == []
    assert [notice.message for notice in desk.notices] == [
        "other.gguf was not loaded. A context of 2,147,483,647 tokens is not possible: the model was trained "
        "for 8,192. starter goes on answering."
    ]
    assert len(desk.engine.clients) == 2


def test_setting_of_a_larger_model_is_shown_as_what_is_possible_and_is_kept(
    start_planned: Callable[[], Desk], bench: Bench
) -> None:
    desk = start_planned()
    desk.say(desk.engine.newest.load)
    desk.weir.preferences.update(n_ctx=32_768)
    desk.weir.pages.open_load_plan(bench.model("other"))
    settle()
    page = desk.weir.pages.load_plan
    assert page is not None and page.controls.context.value() == 8192
    page.load.click()
    settle()
    assert desk.engine.newest.load_command.n_ctx == 8192
    assert desk.weir.preferences.settings.n_ctx == 32_768


def test_old_model_makes_way_first_where_there_is_no_room_for_both(
    start_planned: Callable[[], Desk], bench: Bench
) -> None:
    bench.shrink_ram(1100 * MIB)
    desk = start_planned()
    desk.say(desk.engine.newest.load)
    bench.shrink_ram(700 * MIB)
    desk.weir.history.take(_gauges(rss=900 * MIB))
    desk.weir.loader.load(bench.model("other"))
    settle()
    old, new = desk.engine.clients
    assert old.closed
    assert new.load_command.path.endswith("other.gguf")


def test_layers_that_fit_are_what_the_engine_is_told(start_planned: Callable[[], Desk], bench: Bench) -> None:
    bench.hardware = machine(cpu(10 * GIB), card(500 * MIB, 2 * GIB))
    desk = start_planned()
    n_layers = desk.engine.newest.load_command.n_gpu_layers
    assert 0 < n_layers < 31
    desk.say(desk.engine.newest.load)
    assert not desk.chats.options.needs_reload(None)  # it is what "all" came to


# --- running out of memory ----------------------------------------------------------------------------


@pytest.mark.parametrize("death", [EngineDied(-9, ""), EngineDied(-6, "what():  std::bad_alloc")])
def test_running_out_of_memory_while_loading_is_one_error_and_no_second_try(
    desk: Desk, death: EngineDied
) -> None:
    desk.weir.loader.load("/models/big.gguf")
    culprit = desk.engine.newest
    desk.say(culprit.say, death)
    assert culprit.closed
    assert len(desk.engine.clients) == 2
    told = [notice.message for notice in desk.notices]
    assert told == [
        "big.gguf could not be loaded: there was not enough memory. What it took is free again: choose a "
        "smaller context, or a smaller model. starter goes on answering."
    ]


def test_model_that_ran_out_of_memory_is_not_what_the_next_start_loads(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.say(desk.engine.newest.load)
    desk.say(desk.engine.newest.die)
    desk.say(desk.engine.newest.say, EngineDied(-9, ""))  # while it is loaded once more
    assert len(desk.engine.clients) == 2
    assert desk.weir.preferences.settings.last_model is None
    assert desk.notices[-1].action is NoticeAction.SHOW_PLAN


# --- cancelling ---------------------------------------------------------------------------------------


def test_cancel_ends_the_loading_and_the_old_model_goes_on(desk: Desk) -> None:
    desk.weir.loader.load("/models/other.gguf")
    desk.say(desk.engine.newest.say, LoadProgress(0.4))
    bar = desk.weir.window.model_bar
    assert bar.cancel.isVisible()
    bar.cancel.click()
    settle()
    old, new = desk.engine.clients
    assert (old.closed, new.closed) == (False, True)
    assert desk.weir.loader.loading is None
    assert not bar.cancel.isVisible()
    assert desk.notices == []
    desk.say(new.load)  # too late
    assert desk.weir.loader.info and desk.weir.loader.info.name == "starter"


def test_cancel_brings_back_the_model_that_made_way(start_planned: Callable[[], Desk], bench: Bench) -> None:
    bench.shrink_ram(1100 * MIB)
    desk = start_planned()
    desk.say(desk.engine.newest.load)
    bench.shrink_ram(700 * MIB)
    desk.weir.history.take(_gauges(rss=900 * MIB))
    desk.weir.loader.load(bench.model("other"))
    settle()
    desk.weir.window.model_bar.cancel.click()
    settle()
    assert desk.engine.newest.load_command.path.endswith("starter.gguf")
    desk.weir.window.model_bar.cancel.click()
    settle()
    assert desk.weir.loader.loading is None
    assert len(desk.engine.clients) == 3


def test_answer_of_the_guard_that_comes_after_cancel_loads_nothing(
    start_planned: Callable[[], Desk], bench: Bench
) -> None:
    bench.sources().make_runner("plan-look")
    looking = bench.runners["plan-look"]
    looking.holds = True
    desk = start_planned()
    desk.weir.loader.cancel_loading()
    looking.go()
    settle()
    assert desk.engine.newest.sent == []
    assert desk.weir.loader.loading is None


# --- what was chosen on the page ----------------------------------------------------------------------


def test_what_was_chosen_on_the_page_holds_from_then_on(
    start_planned: Callable[[], Desk], bench: Bench
) -> None:
    desk = start_planned()
    desk.say(desk.engine.newest.load)
    other = bench.model("other")
    desk.weir.window.model_bar.model_chosen.emit(other)
    settle()
    assert len(desk.engine.clients) == 1  # nothing is loaded before somebody says so
    page = desk.weir.pages.load_plan
    assert page is not None
    page.controls.chosen.emit("n_ctx", 2048)
    page.load.click()
    settle()
    assert not page.isVisible()
    assert desk.engine.newest.load_command.path == other
    assert desk.engine.newest.load_command.n_ctx == 2048
    desk.say(
        desk.engine.newest.load,
    )
    assert desk.weir.preferences.settings.n_ctx == 2048
    assert not desk.chats.options.needs_reload(None)


def test_choice_for_a_chat_with_options_of_its_own_is_kept_there(
    start_planned: Callable[[], Desk], bench: Bench
) -> None:
    desk = start_planned()
    desk.say(desk.engine.newest.load)
    desk.send("Hello")
    chat = desk.controller.open_chat_id
    desk.chats.options.set_options(chat, ChatOptions(n_ctx=1024))
    desk.weir.pages.open_load_plan(bench.model("other"))
    settle()
    page = desk.weir.pages.load_plan
    assert page is not None and page.controls.context.value() == 1024
    page.controls.chosen.emit("n_ctx", 4096)
    page.load.click()
    settle()
    assert desk.chats.options.options(chat).n_ctx == 4096
    assert desk.weir.preferences.settings.n_ctx is None
    assert desk.chats.options.effective(chat).policy is Policy.ENDLESS


def _gauges(rss: int) -> Gauges:
    return Gauges(None, None, None, 0, 8192, 0, 180 * MIB, rss, (), 100 * MIB)
